"""Licence texts told apart by the sentences that make each what it is.

A text counts for every licence whose grant it holds, so a file that bundles several licences needs all of them. Words
that take back what a grant gives ("Commons Clause") make it an unknown licence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BSD = "redistribution and use in source and binary forms with or without modification are permitted"
_MIT = "permission is hereby granted free of charge to any person obtaining a copy"
_MIT_NOTICE = "the above copyright notice and this permission notice"
_ISC = (
    r"permission to use copy modify (and or |and )?distribute this software for any purpose with or without fee "
    r"is hereby granted"
)
_ADVERTISING = "all advertising materials mentioning features or use"
_ENDORSEMENT = r"neither the names? of|may not be used to endorse or promote|may be used to endorse or promote"
_CNRI = "cnri license agreement"


@dataclass(frozen=True, slots=True)
class _Grant:
    """A text grants a licence when its words, without punctuation, match all of ``says`` and none of ``lacks``."""

    licence: str
    says: tuple[str, ...]
    lacks: tuple[str, ...] = ()


_GRANTS = (
    _Grant("MIT", (_MIT, _MIT_NOTICE)),
    _Grant("MIT-0", (_MIT,), (_MIT_NOTICE,)),
    _Grant("Apache-2.0", ("apache license version 2 0",)),
    _Grant("BSD-2-Clause", (_BSD,), (_ENDORSEMENT, _ADVERTISING)),
    _Grant("BSD-3-Clause", (_BSD, _ENDORSEMENT), (_ADVERTISING,)),
    _Grant("BSD-4-Clause", (_BSD, _ADVERTISING)),
    _Grant("ISC", (_ISC + " provided that the above copyright notice",)),
    _Grant("0BSD", (_ISC,), (_ISC + " provided that",)),
    _Grant("Unlicense", ("this is free and unencumbered software released into the public domain",)),
    _Grant("Zlib", ("altered source versions must be plainly marked as such",)),
    _Grant("BSL-1.0", ("boost software license version 1 0",)),
    _Grant("CC0-1.0", ("cc0 1 0 universal",)),
    _Grant("PSF-2.0", ("python software foundation license version 2",), (_CNRI,)),
    _Grant("Python-2.0", ("python software foundation license version 2", _CNRI)),
    _Grant("MPL-2.0", ("mozilla public license version 2 0",)),
    _Grant("AGPL-3.0-only", ("gnu affero general public license version 3",)),
    _Grant("LGPL-2.1-only", ("gnu lesser general public license version 2 1",)),
    _Grant("LGPL-3.0-only", ("gnu lesser general public license version 3",)),
    _Grant("GPL-2.0-only", ("gnu general public license version 2",), ("gnu lesser general public license",)),
    _Grant("GPL-3.0-only", ("gnu general public license version 3",), ("gnu (lesser|affero) general public license",)),
)
_RESTRICTIONS = re.compile(r"commons clause|non ?commercial|used for good not evil|no derivatives|proprietary")


def licences_in(text: str) -> tuple[str, ...]:
    """SPDX identifiers of the licences whose grants stand in ``text``; empty for a text that is none we know."""
    words = re.sub(r"[^a-z0-9]+", " ", text.lower())
    if _RESTRICTIONS.search(words):
        return ()
    return tuple(grant.licence for grant in _GRANTS if _grants(grant, words))


def _grants(grant: _Grant, words: str) -> bool:
    return all(re.search(phrase, words) for phrase in grant.says) and not any(
        re.search(phrase, words) for phrase in grant.lacks
    )
