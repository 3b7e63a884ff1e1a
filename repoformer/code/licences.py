"""Which licence a repository has, as an SPDX expression, and whether a list of allowed licences grants its use.

What an author declares as an SPDX expression goes first, then what other declarations say without doubt, then the texts
of licence files. Where nothing is certain the licence is unknown, and an unknown licence is never allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from repoformer.code.licence_texts import licences_in

_CLASSIFIERS = {
    "Academic Free License (AFL)": "AFL-3.0",
    # Versions before 2.0 were out of use when distributions began to carry classifiers.
    "Apache Software License": "Apache-2.0",
    "Boost Software License 1.0 (BSL-1.0)": "BSL-1.0",
    "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "GNU Affero General Public License v3": "AGPL-3.0-only",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0-only",
    "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
# Free text without punctuation and filler words. Plain "BSD" is not here: it does not say which of the BSD licences.
_FREE_TEXTS = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2 0": "Apache-2.0",
    "apache2": "Apache-2.0",
    "apache2 0": "Apache-2.0",
    "2 clause bsd": "BSD-2-Clause",
    "bsd 2 clause": "BSD-2-Clause",
    "simplified bsd": "BSD-2-Clause",
    "3 clause bsd": "BSD-3-Clause",
    "bsd 3 clause": "BSD-3-Clause",
    "bsd3": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "cc0": "CC0-1.0",
    "expat": "MIT",
    "isc": "ISC",
    "iscl": "ISC",
    "mit": "MIT",
    "mit mit": "MIT",
    "mit expat": "MIT",
    "mpl 2 0": "MPL-2.0",
    "mozilla public 2 0": "MPL-2.0",
    "mozilla public 2 0 mpl 2 0": "MPL-2.0",
    "psf": "PSF-2.0",
    "psfl": "PSF-2.0",
    "python foundation": "PSF-2.0",
    "zlib libpng": "Zlib",
}
_FILLER = {"the", "license", "licence", "licenses", "licensed", "software", "under", "version", "v"}
# A licence field longer than this holds a licence's text, not its name.
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class LicenceEvidence:
    """What a repository says about its licence, in the forms in which it can be said."""

    declared: str = ""
    """An SPDX expression, a licence's name or its whole text: metadata hold all three in the same field."""
    classifiers: tuple[str, ...] = ()
    """Trove classifiers that start with ``License ::``."""
    texts: tuple[str, ...] = ()
    """The contents of licence files."""
    detected: tuple[str, ...] = ()
    """SPDX identifiers that somebody found in the repository's files: all of them hold."""


def licence_of(evidence: LicenceEvidence) -> str | None:
    """The licence as a canonical SPDX expression; None where the evidence does not say it without doubt."""
    return (
        spdx(evidence.declared)
        or _named(evidence.declared)
        or _together(map(_classified, evidence.classifiers))
        or _together(map(_in_text, evidence.texts))
        or _together(map(spdx, evidence.detected))
    )


def spdx(expression: str) -> str | None:
    """``expression`` in canonical form; None for what is no expression of known SPDX identifiers."""
    if not expression.strip() or len(expression) > _LONGEST_NAME:
        return None
    try:
        return str(canonicalize_license_expression(expression.strip()))
    except InvalidLicenseExpression:
        return None


def refusal(licence: str | None, evidence: LicenceEvidence, allowed: Collection[str]) -> str | None:
    """Why a repository with this licence may not be used; None when ``allowed`` grants its use."""
    if licence is None:
        seen = " ".join(evidence.declared.split())[:60] or ", ".join((*evidence.classifiers, *evidence.detected))
        return f"unknown licence ({seen.encode('utf-8', 'replace').decode()})" if seen else "no known licence"
    return None if is_allowed(licence, allowed) else f"licence {licence} is not allowed"


def is_allowed(expression: str, allowed: Collection[str]) -> bool:
    """Whether the allowed licences grant use under a canonical SPDX expression.

    Of ``A OR B`` one is enough, of ``A AND B`` both are needed. An exception (``A WITH E``) only ever adds permissions,
    so ``A`` is enough, and ``A WITH E`` may be allowed by itself. ``A+`` may be taken as ``A``.
    """
    names = {name.lower() for name in allowed}
    tokens = re.findall(r"[()]|[^\s()]+", expression)

    def alternatives() -> bool:
        granted = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            granted = conjunction() or granted
        return granted

    def conjunction() -> bool:
        granted = operand()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            granted = operand() and granted
        return granted

    def operand() -> bool:
        token = tokens.pop(0)
        if token == "(":
            granted = alternatives()
            tokens.pop(0)
            return granted
        spellings = {token, token.removesuffix("+")}
        if tokens and tokens[0] == "WITH":
            spellings.add(f"{token} WITH {tokens[1]}")
            del tokens[:2]
        return any(spelling.lower() in names for spelling in spellings)

    return alternatives()


def _named(text: str) -> str | None:
    """The licence that a free-text field names, or whose text it holds."""
    if len(text) > _LONGEST_NAME:
        return _in_text(text)
    words = [word for word in re.sub(r"[^a-z0-9]+", " ", text.lower()).split() if word not in _FILLER]
    return _FREE_TEXTS.get(" ".join(words))


def _classified(classifier: str) -> str | None:
    return _CLASSIFIERS.get(classifier.rpartition(" :: ")[2])


def _in_text(text: str) -> str | None:
    return _together(licences_in(text))


def _together(licences: Iterable[str | None]) -> str | None:
    """All of the licences, since nothing says that one is enough; None if any is unknown or there are none."""
    known = list(dict.fromkeys(licences))
    if not known or None in known:
        return None
    expressions = [f"({licence})" if licence and " OR " in licence and len(known) > 1 else licence for licence in known]
    return spdx(" AND ".join(str(expression) for expression in expressions))
