"""Which imports lead to a repository's own files, each language by its own rule."""

from __future__ import annotations

import pytest

from repoformer.code.local_imports import LocalModules
from repoformer.code.records import SourceFile
from repoformer.code.syntax import imports

PATHS = ("src/main/java/org/acme/Tool.java", "app/page.tsx", "lib/a.js", "Core/Thing.cs", "pkg/m.py")
FILES = [SourceFile("Core/Thing.cs", "namespace Acme.Core\n{\n}\nnamespace Acme.Deep;\n", "csharp")]


@pytest.mark.parametrize(
    ("language", "statement", "local"),
    [
        ("java", "import org.acme.Tool;", True),
        ("java", "import org.acme.*;", True),
        ("java", "import static org.acme.Tool.help;", True),
        ("java", "import org.acme.Tool.Inner;", True),
        ("java", "import org.other.Tool;", False),
        ("java", "import java.util.List;", False),
        ("csharp", "using Acme.Core;", True),
        ("csharp", "using static Acme.Deep;", True),
        ("csharp", "using System.Linq;", False),
        ("javascript", "import './a.js';", True),
        ("javascript", "const a = require('../b');", True),
        ("javascript", "import fs from 'fs';", False),
        ("typescript", "import { x } from './x';", True),
        ("tsx", "import React from 'react';", False),
        ("python", "import pkg.m", True),
        ("python", "import Core", False),
    ],
)
def test_local_or_not(language: str, statement: str, local: bool) -> None:
    (found,) = imports(language, f"{statement}\n")
    assert LocalModules(FILES, PATHS).imported_by(language, found) is local
