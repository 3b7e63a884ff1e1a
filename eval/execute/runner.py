"""Unit-test execution from a recipe to pass rates.

OUT is the folder of an evaluation, whose predictions are judged.

OUT/environments/                     what was installed for the repositories
OUT/executions/REPOSITORY.jsonl       one `Execution` a line               } written as the work goes on, so a killed
OUT/executions/baselines/...          which of its tests count             } run resumes where it stopped
OUT/executions/run.json               configuration, commit, versions
OUT/scores/MODEL.unit-tests.jsonl     one `UnitTests` a line
OUT/unit_tests.json                   pass rates without and with context, and what was left out; those of policies that
                                      decide stand in the evaluation's summary
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from repoformer.code.records import Prediction
from repoformer.code.storage import write_json, write_jsonl
from repoformer.config import config_hash, write_run_record
from repoformer.errors import UserError
from repoformer.sandbox.probe import require_containment

from ..generate import predictions_log
from ..record_log import RecordLog
from .bodies import Bodies, Hole, bodies_of
from .environments import prepare, tree_hash
from .execution import Baseline, Execution, body_hash
from .pass_rate import UnitTests, summarise, unconditional, unit_tests, unit_tests_path
from .recipe import ExecuteRecipe, UnderTest
from .suite import Suite


def run(recipe: ExecuteRecipe, workers: int = 1) -> dict[str, Any]:
    """Judge every function completion that can be judged, and return what is in ``unit_tests.json``.

    ``workers`` runs go on at the same time; each may use as much as the recipe's limits say.
    """
    require_containment()
    out = Path(recipe.evaluation)
    predictions = {name: _predictions(out, name) for name in _models(recipe, out)}
    sources = {repository.id: Path(repository.source) for repository in recipe.repositories}
    bodies = bodies_of(list(predictions.values()), sources, recipe.limit)
    write_run_record(out / "executions", recipe)
    judged = [
        _Judged(recipe, repository, holes, out)
        for repository in tqdm(recipe.repositories, desc="environments", unit="repository")
        if (holes := [hole for hole in bodies.holes if hole.blank.repository == repository.id])
    ]
    with ThreadPoolExecutor(workers) as pool:
        try:
            _work(pool, "baselines", [task for one in judged for task in one.baselines()])
            _work(pool, "bodies that raise", [task for one in judged for task in one.controls()])
            _work(pool, "completions", [task for one in judged for task in one.completions(bodies)])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for one in judged:
        one.finish(bodies.left_out)
    summary = _summary(recipe, predictions, bodies, judged)
    write_json(out / "unit_tests.json", summary)
    return summary


Task = tuple[Callable[[], Any], Callable[[Any], None]]
"""What a worker does, and what is done with its result, here, one at a time."""


class _Judged:
    """One repository's tests, what they have said so far, and where that is kept."""

    def __init__(self, recipe: ExecuteRecipe, repository: UnderTest, holes: Sequence[Hole], out: Path) -> None:
        self.repository = repository
        self.holes = holes
        self.suite = Suite(repository, prepare(repository, recipe.installation, out), recipe.limits.limits())
        self._runs = recipe.baseline_runs
        made_with = {
            "repository": config_hash(repository.model_dump(mode="json", exclude={"source"})),
            "files": tree_hash(Path(repository.source)),
            "limits": recipe.limits.model_dump(mode="json"),
            "baseline_runs": recipe.baseline_runs,
        }
        folder = out / "executions"
        self._baseline_log = RecordLog(Baseline, folder / "baselines" / f"{repository.file_name}.jsonl")
        self._log = RecordLog(Execution, folder / f"{repository.file_name}.jsonl")
        self._baselines = {baseline.tests: baseline for baseline in self._baseline_log.resume(made_with)}
        self.executions = {(one.id, one.body): one for one in self._log.resume(made_with)}

    def baselines(self) -> Iterator[Task]:
        """Every set of tests that a hole needs, with nothing replaced."""
        for tests in sorted({self._tests(hole) for hole in self.holes} - self._baselines.keys()):
            yield partial(self.suite.baseline, tests, self._runs), self._keep_baseline

    def controls(self) -> Iterator[Task]:
        """Every hole with a body that raises."""
        yield from self._judge((hole, hole.without_body) for hole in self.holes if self._baseline(hole).counted)

    def completions(self, bodies: Bodies) -> Iterator[Task]:
        """Every body that a model wrote into a hole whose tests would notice."""
        covered = [hole for hole in self.holes if self.reason(hole) is None]
        yield from self._judge((hole, body) for hole in covered for body in bodies.texts[hole.blank.id].values())

    def reason(self, hole: Hole) -> str | None:
        """Why a hole says nothing about completions; None if it does."""
        if not self._baseline(hole).counted:
            return "no test passes before anything is replaced"
        if self.executions[hole.blank.id, body_hash(hole.without_body)].verdict == "passed":
            return "no test notices that the body is gone"
        return None

    def finish(self, left_out: Counter[str]) -> None:
        """Count the holes that say nothing, and put the records in order: workers end in any."""
        left_out.update(reason for hole in self.holes if (reason := self.reason(hole)))
        self._log.rewrite(one for _, one in sorted(self.executions.items()))

    def facts(self) -> dict[str, Any]:
        """What is worth knowing about this repository's tests."""
        baselines = {self._baseline(hole) for hole in self.holes}
        return {
            "functions": len(self.holes),
            "judged": sum(self.reason(hole) is None for hole in self.holes),
            "tests_counted": len({test for baseline in baselines for test in baseline.counted}),
            "tests_ignored": max(baseline.ignored for baseline in baselines),
            "baseline_seconds": max(baseline.seconds for baseline in baselines),
            "baseline_output": next((baseline.output for baseline in baselines if baseline.output), ""),
        }

    def _judge(self, wanted: Iterable[tuple[Hole, str]]) -> Iterator[Task]:
        for hole, body in wanted:
            name = body_hash(body)
            if (hole.blank.id, name) not in self.executions:
                judge = partial(self.suite.judge, hole.blank.id, name, hole.filled(body), self._baseline(hole))
                yield judge, self._keep

    def _tests(self, hole: Hole) -> tuple[str, ...]:
        return self.repository.tests_of(hole.blank.path)

    def _baseline(self, hole: Hole) -> Baseline:
        return self._baselines[self._tests(hole)]

    def _keep_baseline(self, baseline: Baseline) -> None:
        self._baseline_log.append([baseline])
        self._baselines[baseline.tests] = baseline

    def _keep(self, execution: Execution) -> None:
        self._log.append([execution])
        self.executions[execution.id, execution.body] = execution


def _work(pool: ThreadPoolExecutor, what: str, tasks: Sequence[Task]) -> None:
    futures: dict[Future[Any], Callable[[Any], None]] = {pool.submit(do): keep for do, keep in tasks}
    for future in tqdm(as_completed(futures), total=len(futures), desc=what, unit="run", disable=not futures):
        futures[future](future.result())


def _models(recipe: ExecuteRecipe, out: Path) -> list[str]:
    """Names of the models whose predictions are judged."""
    present = sorted(path.name.removesuffix(".meta.json") for path in (out / "predictions").glob("*.meta.json"))
    missing = sorted(set(recipe.models) - set(present))
    if missing or not present:
        raise UserError(
            f"{out / 'predictions'}: no predictions of {', '.join(missing) or 'any model'}; "
            "let `repoformer eval run` write them first"
        )
    return list(recipe.models) or present


def _predictions(out: Path, name: str) -> list[Prediction]:
    """What the model completed; a blank that it refused has no completion to judge."""
    return [prediction for prediction in predictions_log(out, name).read() if not prediction.refused]


def _summary(
    recipe: ExecuteRecipe, predictions: dict[str, list[Prediction]], bodies: Bodies, judged: Sequence[_Judged]
) -> dict[str, Any]:
    out = Path(recipe.evaluation)
    covered = {hole.blank.id for one in judged for hole in one.holes if one.reason(hole) is None}
    executions = {key: execution for one in judged for key, execution in one.executions.items()}
    models = {}
    for name, made in predictions.items():
        by_id = {prediction.blank.id: prediction for prediction in made if prediction.blank.id in covered}
        scores: list[UnitTests] = [unit_tests(by_id[id], executions) for id in sorted(by_id)]
        write_jsonl(unit_tests_path(out, name), scores)
        models[name] = summarise(scores, unconditional(scores), resamples=recipe.resamples, seed=recipe.seed)
    return {
        "schema": 2,
        "partial": bool(recipe.limit),
        "functions": len(bodies.holes),
        "judged": len(covered),
        "left_out": dict(sorted(bodies.left_out.items())),
        "repositories": {one.repository.id: one.facts() for one in judged},
        "models": models,
    }
