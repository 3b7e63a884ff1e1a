"""Repositories in braces go through the stages as those in Python do: Java, C#, TypeScript and JavaScript."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from repoformer.code.records import Blank, Repository
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline import collect, retrieve, runner, sample
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.retrieve import BlankInContext
from repoformer.data_pipeline.split import write_split
from repoformer.data_pipeline.workers import Workers
from repoformer.metrics.completion import postprocess

RecipeFor = Callable[..., DataRecipe]

JAVA = """/*
 * Licensed to everybody under the MIT licence, which stands in the root.
 */
package org.acme.{name};

import java.util.List;
import java.util.Map;
import org.acme.{name}.{other};
import org.acme.{name}.{third};

public class {this} {{
    private final {other} first = new {other}();

    /** Adds {a} to all of them. */
    public int add{this}(List<Integer> values, Map<String, Integer> named) {{
        int total = {a};
        for (int value : values) {{
            total += first.{other}Weight(value, {b});
        }}
        return total;
    }}

    int {this}Weight(int value, int weight) {{
        if (value > {b}) {{
            return value * weight;
        }}
        return {third}.limit(value);
    }}
}}
"""
CSHARP = """using System.Collections.Generic;
using System.Linq;
using Acme.{name}.{other}s;
using Acme.{name}.{third}s;

namespace Acme.{name}.{this}s
{{
    public class {this}
    {{
        public int Add{this}(IEnumerable<int> values)
        {{
            var total = {a};
            foreach (var value in values)
            {{
                total += {other}.Weight{other}(value, $"{{total}} of {b}");
            }}
            return total;
        }}

        public static int Weight{this}(int value, string label)
        {{
            var longest = label.Length + {b};
            return value * longest;
        }}
    }}
}}
"""
TYPESCRIPT = """import {{ readFile }} from "fs";
import {{ weight{other} }} from "./{other}";
import {{ weight{third} }} from "./{third}";

export const add{this} = async (values: number[]): Promise<number> => {{
  let total = {a};
  for (const value of values) {{
    total += weight{other}(value, `${{total}} of {b}`);
  }}
  return total;
}};

export function weight{this}(value: number, label: string): number {{
  const longest = label.length + {b};
  return longest > {a} ? weight{third}(value, label) : value;
}}
"""
FORMS = {
    "java": (JAVA, "src/main/java/org/acme/{name}/{this}.java"),
    "csharp": (CSHARP, "Source/{this}.cs"),
    "typescript": (TYPESCRIPT, "src/{this}.ts"),
}
CLASSES = ("Loader", "Parser", "Merger", "Counter", "Splitter", "Writer")


def write_repository(root: Path, name: str, language: str) -> None:
    draw = random.Random(f"{name} {language}")
    text, path = FORMS[language]
    for this in CLASSES:
        other, third = draw.sample([each for each in CLASSES if each != this], 2)
        names = {"name": name, "this": this, "other": other, "third": third}
        file = root / name / path.format(**names)
        file.parent.mkdir(parents=True, exist_ok=True)
        written = text.format(**names, a=draw.randrange(10**6), b=draw.randrange(10**6))
        file.write_text(written.replace("total", f"total_{name}").replace("longest", f"longest_{name}"))
    (root / name / "package.json").write_text('{"license": "MIT"}')


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture
def finished(out: Path, recipe_for: RecipeFor) -> Path:
    if not (out / "retrieve").exists():
        for language in FORMS:
            for name in ("ant", "bee"):
                write_repository(out / "repositories", f"{name}{language}", language)
    recipe = recipe_for(
        out,
        sources=[{"kind": "folder", "path": str(out / "repositories")}],
        filter={"languages": list(FORMS), "imports_per_file": 3, "local_imports_per_file": 2},
        sample={"chunks_per_repository": 4, "functions_per_repository": 4},
        split={"validation": 0.01, "test": 0.01},
    )
    with Workers(1) as workers:
        runner.run_stage(collect.STAGE, recipe, workers)
        write_split(recipe)
        runner.run_stage(sample.STAGE, recipe, workers)
        runner.run_stage(retrieve.STAGE, recipe, workers)
    return out


def test_the_papers_filter_counts_their_imports_and_local_ones(finished: Path) -> None:
    assert len(read_parquet(Repository, finished / "collect")) == 2 * len(FORMS)


def test_function_blanks_are_bodies_that_post_processing_gives_back(finished: Path) -> None:
    blanks = [blank for blank in read_parquet(Blank, finished / "sample") if blank.kind == "function"]
    assert {blank.language for blank in blanks} == set(FORMS)
    assert all(postprocess(blank, blank.target + blank.right) == blank.target for blank in blanks)
    assert all(blank.left.rstrip().endswith("{") and blank.right.lstrip().startswith("}") for blank in blanks)


def test_blanks_find_context_in_their_own_language(finished: Path) -> None:
    found = read_parquet(BlankInContext, finished / "retrieve")
    assert all(one.context.chunks for one in found)
    suffix = {language: Path(path).suffix for language, (_, path) in FORMS.items()}
    assert all(ranked.chunk.path.endswith(suffix[one.blank.language]) for one in found for ranked in one.context.chunks)
