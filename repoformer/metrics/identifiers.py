"""CrossCodeEval's identifier match: whether a completion names the right things, whatever it does with them.

An identifier is a word outside of string literals that is no keyword. The keyword lists are those of the benchmark
(``True``, ``false`` and the like count as identifiers in every language); they decide the score, so they are not those
of whatever Python runs this.
"""

from __future__ import annotations

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"' + "|" + r"'(?:[^'\\]|\\.)*'")
_WORD = re.compile(r"\w+")
_STARTS_IDENTIFIER = re.compile("[_a-zA-Z]")

_KEYWORDS = {
    "python": """
        None and as assert async await break class continue def del elif else except finally for from global if import
        in is lambda nonlocal not or pass raise return try while with yield
    """,
    "java": """
        abstract assert boolean break byte case catch char class const continue default do double else enum extends
        final finally float for goto if implements import instanceof int interface long native new package private
        protected public return short static strictfp super switch synchronized this throw throws transient try var
        void volatile while
    """,
    "csharp": """
        abstract as base bool break byte case catch char checked class const continue decimal default delegate do
        double else enum event explicit extern finally fixed float for foreach goto if implicit in int interface
        internal is lock long namespace new null object operator out override params private protected public readonly
        ref return sbyte sealed short sizeof stackalloc static string struct switch this throw try typeof uint ulong
        unchecked unsafe ushort using virtual void volatile while
    """,
    "typescript": """
        break case catch class const continue debugger default delete do else enum export extends finally for function
        if implements import in instanceof interface let new package private protected public return static super
        switch this throw try typeof var void while with yield
    """,
}
KEYWORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _KEYWORDS.items()}


def identifiers(code: str, language: str) -> list[str]:
    """The identifiers of ``code``, comments already removed, in their order and as often as they occur."""
    if language not in KEYWORDS:
        raise ValueError(f"identifiers are told from keywords in {', '.join(KEYWORDS)}, not in {language}")
    words = _WORD.findall(_STRING.sub("", code))
    return [word for word in words if _STARTS_IDENTIFIER.match(word) and word not in KEYWORDS[language]]


def identifier_exact_match(completion: str, target: str, language: str) -> bool:
    """Whether both name the same identifiers in the same order."""
    return identifiers(completion, language) == identifiers(target, language)


def identifier_f1(completion: str, target: str, language: str) -> float:
    """F1 of the sets of identifiers. As in the benchmark, 0 where neither text has any."""
    named, wanted = set(identifiers(completion, language)), set(identifiers(target, language))
    return 2 * len(named & wanted) / (len(named) + len(wanted)) if named or wanted else 0.0
