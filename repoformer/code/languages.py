"""The languages the framework knows, in one table: a new one is an entry here and a test.

An entry says how files are recognised, how a line comment is written, which tree-sitter grammar reads them, and what in
its syntax tree is an import and what a function. Queries capture ``@statement`` and ``@module``, one match per imported
module, and ``@function`` and ``@body``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Language:
    """What the other rooms need to know about a programming language."""

    name: str
    suffixes: tuple[str, ...]
    comment: str
    """The sign that starts a line comment."""
    grammar: tuple[str, str]
    """The module of its tree-sitter grammar and the function in it that gives the grammar."""
    imports: str
    functions: str
    unremarkable: tuple[str, ...]
    """How lines begin that say nothing about which file they are from: imports and comments."""
    frame: tuple[str, str] | None = None
    """What makes a function's body in braces a whole file: text before and after it; None where lines are indented."""
    stubs: tuple[str, ...] = ()
    """Ends of names of files that only repeat the signatures of others."""
    family: str = ""
    """Languages of one family import each other's files; by default a language is its own."""


_C_COMMENTS = ("//", "/*", "*")
_PYTHON_IMPORTS = """
    ; `from __future__` is a node type of its own, and rightly left out: it imports no code.
    (import_statement name: (dotted_name) @module) @statement
    (import_statement name: (aliased_import name: (dotted_name) @module)) @statement
    (import_from_statement module_name: (_) @module) @statement
"""
_JAVA_IMPORTS = """
    (import_declaration (scoped_identifier) @module) @statement
    (import_declaration (identifier) @module) @statement
"""
_JAVA_FUNCTIONS = """
    (method_declaration body: (block) @body) @function
    (constructor_declaration body: (constructor_body) @body) @function
    (compact_constructor_declaration body: (block) @body) @function
"""
_CSHARP_IMPORTS = """
    (using_directive (qualified_name) @module) @statement
    (using_directive !name (identifier) @module) @statement
"""
_CSHARP_FUNCTIONS = """
    (method_declaration body: (block) @body) @function
    (constructor_declaration body: (block) @body) @function
    (destructor_declaration body: (block) @body) @function
    (operator_declaration body: (block) @body) @function
    (conversion_operator_declaration body: (block) @body) @function
    (local_function_statement body: (block) @body) @function
"""
_JAVASCRIPT_IMPORTS = """
    (import_statement source: (string (string_fragment) @module)) @statement
    (export_statement source: (string (string_fragment) @module)) @statement
    ((call_expression
        function: (identifier) @_require
        arguments: (arguments . (string (string_fragment) @module) .)) @statement
      (#eq? @_require "require"))
    (call_expression function: (import) arguments: (arguments . (string (string_fragment) @module))) @statement
"""
_TYPESCRIPT_IMPORTS = (
    _JAVASCRIPT_IMPORTS
    + """
    (import_statement (import_require_clause source: (string (string_fragment) @module))) @statement
"""
)
_JAVASCRIPT_FUNCTIONS = """
    (function_declaration body: (statement_block) @body) @function
    (generator_function_declaration body: (statement_block) @body) @function
    (function_expression body: (statement_block) @body) @function
    (generator_function body: (statement_block) @body) @function
    (arrow_function body: (statement_block) @body) @function
    (method_definition body: (statement_block) @body) @function
"""
_JAVASCRIPT_FRAME = ("function _() {\n", "\n}\n")

_TABLE = (
    Language(
        "python",
        suffixes=(".py", ".pyi"),
        comment="#",
        grammar=("tree_sitter_python", "language"),
        imports=_PYTHON_IMPORTS,
        functions="(function_definition body: (block) @body) @function",
        unremarkable=("import ", "from ", "#"),
        stubs=(".pyi",),
    ),
    Language(
        "java",
        suffixes=(".java",),
        comment="//",
        grammar=("tree_sitter_java", "language"),
        imports=_JAVA_IMPORTS,
        functions=_JAVA_FUNCTIONS,
        unremarkable=("import ", "package ", *_C_COMMENTS),
        # Of all functions only a constructor may begin with a call of `super` or `this`.
        frame=("class _ { _() {\n", "\n}}\n"),
    ),
    Language(
        "csharp",
        suffixes=(".cs",),
        comment="//",
        grammar=("tree_sitter_c_sharp", "language"),
        imports=_CSHARP_IMPORTS,
        functions=_CSHARP_FUNCTIONS,
        unremarkable=("using ", "global using ", "namespace ", *_C_COMMENTS),
        frame=("class _ { void _() {\n", "\n}}\n"),
    ),
    Language(
        "typescript",
        suffixes=(".ts", ".mts", ".cts"),
        comment="//",
        grammar=("tree_sitter_typescript", "language_typescript"),
        imports=_TYPESCRIPT_IMPORTS,
        functions=_JAVASCRIPT_FUNCTIONS,
        unremarkable=("import ", "export * from ", *_C_COMMENTS),
        frame=_JAVASCRIPT_FRAME,
        stubs=(".d.ts", ".d.mts", ".d.cts"),
        family="javascript",
    ),
    # A grammar of its own: `<T>x` is a cast in one and an element in the other.
    Language(
        "tsx",
        suffixes=(".tsx",),
        comment="//",
        grammar=("tree_sitter_typescript", "language_tsx"),
        imports=_TYPESCRIPT_IMPORTS,
        functions=_JAVASCRIPT_FUNCTIONS,
        unremarkable=("import ", "export * from ", *_C_COMMENTS),
        frame=_JAVASCRIPT_FRAME,
        family="javascript",
    ),
    Language(
        "javascript",
        suffixes=(".js", ".jsx", ".mjs", ".cjs"),
        comment="//",
        grammar=("tree_sitter_javascript", "language"),
        imports=_JAVASCRIPT_IMPORTS,
        functions=_JAVASCRIPT_FUNCTIONS,
        unremarkable=("import ", "export * from ", *_C_COMMENTS),
        frame=_JAVASCRIPT_FRAME,
    ),
)

LANGUAGES: dict[str, Language] = {language.name: language for language in _TABLE}

_BY_SUFFIX = {suffix: language for language in LANGUAGES.values() for suffix in language.suffixes}


def language_of(path: str) -> Language | None:
    """The language of a file by its suffix; None for a file that is not source text we know."""
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower())


def family_of(language: str) -> str:
    """The name that languages share whose files import each other, like JavaScript and TypeScript."""
    known = LANGUAGES.get(language)
    return (known.family if known else "") or language


def is_stub(path: str) -> bool:
    """Whether a file declares what another one holds, like ``.pyi`` and ``.d.ts``."""
    language = language_of(path)
    return language is not None and path.lower().endswith(language.stubs)
