"""A licence is what the evidence says without doubt; anything else is unknown, and never allowed."""

from __future__ import annotations

import itertools
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repoformer.code.licence_texts import licences_in
from repoformer.code.licences import LicenceEvidence, is_allowed, licence_of, refusal, spdx

ALLOWED = ["MIT", "Apache-2.0", "BSD-3-Clause"]
MIT_TEXT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software ...
The above copyright notice and this permission notice shall be included in all copies."""
BSD_TEXT = (
    "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided ..."
)
ISC_TEXT = """Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is
hereby granted, provided that the above copyright notice and this permission notice appear in all copies."""


@pytest.mark.parametrize(
    ("declared", "licence"),
    [
        ("mit", "MIT"),
        ("The MIT License (MIT)", "MIT"),
        ("Apache", "Apache-2.0"),
        ("Apache 2.0", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("Apache Software License 2.0", "Apache-2.0"),
        ("BSD 3-Clause License", "BSD-3-Clause"),
        ("3-Clause BSD License", "BSD-3-Clause"),
        ("Python Software Foundation License", "PSF-2.0"),
        ("Apache-2.0 OR bsd-2-clause", "Apache-2.0 OR BSD-2-Clause"),
        ("MIT License\n\nCopyright (c) 2021 Somebody\n\n" + MIT_TEXT, "MIT"),
    ],
)
def test_what_is_declared_becomes_spdx(declared: str, licence: str) -> None:
    assert licence_of(LicenceEvidence(declared)) == licence


@pytest.mark.parametrize("declared", ["", "BSD", "Proprietary", "see LICENSE", "MIT-like", "Dual License", "MIT AND"])
def test_what_is_not_said_without_doubt_is_unknown(declared: str) -> None:
    assert licence_of(LicenceEvidence(declared)) is None


def test_a_licence_file_says_which_bsd_licence_it_is() -> None:
    evidence = LicenceEvidence(
        "BSD", ("License :: OSI Approved :: BSD License",), (BSD_TEXT + "Neither the name of ...",)
    )
    assert licence_of(evidence) == "BSD-3-Clause"


def test_classifiers_count_together() -> None:
    classifiers = ("License :: OSI Approved :: MIT License", "License :: OSI Approved :: Apache Software License")
    assert licence_of(LicenceEvidence("", classifiers)) == "MIT AND Apache-2.0"


def test_one_unknown_classifier_makes_the_licence_unknown() -> None:
    classifiers = ("License :: OSI Approved :: MIT License", "License :: Other/Proprietary License")
    assert licence_of(LicenceEvidence("", classifiers)) is None


def test_one_unknown_licence_file_makes_the_licence_unknown() -> None:
    assert licence_of(LicenceEvidence(texts=(MIT_TEXT, "You may not use this."))) is None


@pytest.mark.parametrize(
    ("text", "licences"),
    [
        (MIT_TEXT, ("MIT",)),
        (MIT_TEXT.partition("\n")[0], ("MIT-0",)),
        (BSD_TEXT, ("BSD-2-Clause",)),
        (BSD_TEXT + " Neither the names of its contributors ...", ("BSD-3-Clause",)),
        (BSD_TEXT + " All advertising materials mentioning features or use of this software ...", ("BSD-4-Clause",)),
        (ISC_TEXT, ("ISC",)),
        (ISC_TEXT.partition(", provided")[0], ("0BSD",)),
        ("Apache License\n      Version 2.0, January 2004", ("Apache-2.0",)),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", ("GPL-3.0-only",)),
        (MIT_TEXT + "\n\n" + ISC_TEXT, ("MIT", "ISC")),
        (MIT_TEXT + '\n"Commons Clause" License Condition v1.0', ()),
        ("", ()),
    ],
)
def test_licence_texts_are_told_apart(text: str, licences: tuple[str, ...]) -> None:
    assert licences_in(text) == licences


def test_line_breaks_and_comment_signs_do_not_hide_a_licence() -> None:
    assert licences_in("\r\n".join(f" # {word}" for word in MIT_TEXT.split())) == ("MIT",)


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT AND Apache-2.0", True),
        ("(GPL-3.0-only OR MIT) AND LGPL-2.1-only", False),
        ("(GPL-3.0-only OR (MIT AND Apache-2.0)) AND BSD-3-Clause", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT+", True),
    ],
)
def test_an_expression_is_allowed_when_its_licences_are(expression: str, allowed: bool) -> None:
    assert is_allowed(expression, ALLOWED) is allowed


def test_a_licence_may_be_allowed_with_its_exception_only() -> None:
    expression = "GPL-2.0-only WITH Classpath-exception-2.0"
    assert is_allowed(expression, [expression])
    assert not is_allowed("GPL-2.0-only", [expression])


NAMES = ["MIT", "ISC", "Zlib", "0BSD"]
EXPRESSIONS = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=8,
)


@given(EXPRESSIONS)
def test_expressions_are_decided_as_logic_decides_them(expression: str) -> None:
    canonical = spdx(expression)
    assert canonical is not None
    for size in range(len(NAMES) + 1):
        for allowed in itertools.combinations(NAMES, size):
            logic = expression.replace("AND", "and").replace("OR", "or")
            for name in NAMES:
                logic = logic.replace(name, str(name in allowed))
            assert is_allowed(canonical, allowed) == eval(logic)


def test_a_refusal_says_what_was_seen() -> None:
    evidence = LicenceEvidence("Some licence of our own")
    assert refusal(licence_of(evidence), evidence, ALLOWED) == "unknown licence (Some licence of our own)"
    assert refusal("GPL-3.0-only", LicenceEvidence(), ALLOWED) == "licence GPL-3.0-only is not allowed"
    assert refusal(None, LicenceEvidence(), ALLOWED) == "no known licence"
    assert refusal("MIT", LicenceEvidence(), ALLOWED) is None


def test_real_metadata_are_understood() -> None:
    # tree-sitter says MIT in a classifier only, numpy as an expression, scikit-learn in either way by its age.
    for name, part in (("tree-sitter", "MIT"), ("numpy", "BSD-3-Clause"), ("scikit-learn", "BSD-3-Clause")):
        fields = metadata.metadata(name)
        declared = next((str(fields[key]) for key in ("License-Expression", "License") if key in fields), "")
        classifiers = tuple(entry for entry in fields.get_all("Classifier") or () if entry.startswith("License :: "))
        assert part in (licence_of(LicenceEvidence(declared, classifiers)) or ""), name
