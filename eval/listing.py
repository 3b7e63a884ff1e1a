"""``repoformer eval ls``: the benchmarks, what each needs, and what of it is there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from repoformer.benchmarks.benchmark import BENCHMARKS, Benchmark, benchmark

_OWN = (
    "your own: `repoformer eval build --repos DIR --out OUT` makes one from any repositories;",
    "          a recipe names it under `data: OUT`, the others under `benchmark: {name, data, variant, repositories}`",
)


def listing(name: str | None, data: Path | None) -> str:
    """One line for every benchmark, or all about one; with ``data`` what of its files lies under that folder."""
    if name is not None:
        return "\n".join(_described(benchmark(name), data))
    described = [benchmark(one) for one in BENCHMARKS.names()]
    width = max(len(one.name) for one in described)
    lines = [f"{one.name:<{width}}  {_size(one):>6}  {_summary(one, data)}" for one in described]
    return "\n".join([*lines, "", *_OWN])


def _summary(described: Benchmark, data: Path | None) -> str:
    line = f"{described.language} {described.kind}: {described.summary}; {described.metrics[0]}"
    if data is None:
        return line
    found = [variant for variant, file in described.files.items() if _place(described, data, file)]
    return f"{line}; {'found: ' + ', '.join(found) if found else 'no file of it in ' + str(data)}"


def _described(described: Benchmark, data: Path | None) -> Iterator[str]:
    yield f"{described.name}: {described.summary}"
    yield f"  blanks           {_size(described)}, {described.language}, {described.kind}"
    yield f"  source           {described.source}"
    yield f"  licence          {described.licence}"
    yield f"  right context    {described.right_context}"
    yield f"  post-processing  {described.postprocessing}"
    yield f"  metrics          {', '.join(described.metrics)}; mean over {described.mean}"
    yield f"  new tokens       {described.new_tokens}"
    yield f"  ids              {described.ids}; reader's version {described.version}"
    for place, (variant, file) in enumerate(described.files.items()):
        state = ""
        if data is not None:
            found = _place(described, data, file)
            state = f"  found at {found}" if found else f"  missing under {data}"
        yield f"  variant          {variant}{' (default)' if not place else ''}: {file}{state}"


def _place(described: Benchmark, data: Path, file: str) -> Path | None:
    """Where a file of a benchmark lies: under the folder, or under one of that folder's that bears a name like it."""
    family = described.name.partition("-")[0]
    return next((path for path in (data / file, data / family / file) if path.is_file()), None)


def _size(described: Benchmark) -> str:
    return "varies" if described.size is None else str(described.size)
