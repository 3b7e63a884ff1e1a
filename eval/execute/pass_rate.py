"""What came of the executions: pass rates of each model under each policy, and who was helped or harmed (table 1)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from tqdm import tqdm

from repoformer.code.records import Prediction
from repoformer.code.storage import read_jsonl
from repoformer.metrics.bootstrap import paired_bootstrap
from repoformer.metrics.means import mean_over_instances, mean_over_repositories

from .bodies import arms
from .execution import Execution, body_hash


@dataclass(frozen=True, slots=True)
class UnitTests:
    """Whether a model's two completions of one blank pass: 1 or 0."""

    schema: ClassVar[int] = 2
    id: str
    repository: str
    passed_without: float
    passed_with: float
    verdict_without: str
    verdict_with: str
    body_without: str
    body_with: str
    """Hashes of the two bodies that were judged."""

    def judges(self, prediction: Prediction) -> bool:
        """Whether these are the bodies of a prediction, which may have been made anew since."""
        return (self.body_without, self.body_with) == _hashes(prediction)


def unit_tests(prediction: Prediction, executions: Mapping[tuple[str, str], Execution]) -> UnitTests:
    """The verdicts on a prediction's two bodies."""
    blank, bodies = prediction.blank, _hashes(prediction)
    without, with_context = (executions[blank.id, body].verdict for body in bodies)
    return UnitTests(
        blank.id,
        blank.repository,
        float(without == "passed"),
        float(with_context == "passed"),
        without,
        with_context,
        *bodies,
    )


def unit_tests_path(evaluation: Path, model: str) -> Path:
    """Where a model's verdicts are kept."""
    return evaluation / "scores" / f"{model}.unit-tests.jsonl"


def read_unit_tests(evaluation: Path, model: str, predictions: Mapping[str, Prediction]) -> dict[str, UnitTests]:
    """The verdicts on these predictions, by the id of their blank; none where nothing was executed."""
    path = unit_tests_path(evaluation, model)
    if not path.exists() or _of_earlier_schema(path):
        return {}
    return {
        verdict.id: verdict
        for verdict in read_jsonl(UnitTests, path)
        if verdict.id in predictions and verdict.judges(predictions[verdict.id])
    }


def _of_earlier_schema(path: Path) -> bool:
    """Whether verdicts do not say which bodies they judge, as those of the first schema; that is said."""
    with open(path, encoding="utf-8") as lines:
        earlier = '"schema": 1,' in next(lines, "")[:20]
    if earlier:
        tqdm.write(
            f"{path}: verdicts of schema 1 do not name the bodies that they judge, so they count as absent; "
            "let `repoformer eval execute` judge again",
            file=sys.stderr,
        )
    return earlier


def unconditional(scores: Sequence[UnitTests]) -> dict[str, list[float]]:
    """The policies that ask no model, as `summarise` takes them; none where nothing was judged."""
    return {"never": [0.0] * len(scores), "always": [1.0] * len(scores)} if scores else {}


def summarise(
    scores: Sequence[UnitTests], policies: Mapping[str, Sequence[float]], *, resamples: int, seed: int
) -> dict[str, Any]:
    """Pass rates of one model. Each policy is compared with ``never`` and ``always`` on the same blanks.

    ``policies``: for each of the ``scores``, how likely the policy takes context.
    """
    changes = Counter(_change(score) for score in scores)
    return {
        "blanks": len(scores),
        "repositories": len({score.repository for score in scores}),
        "helped": changes["helped"],
        "unchanged": changes["unchanged"],
        "harmed": changes["harmed"],
        "verdicts": {
            "without": dict(sorted(Counter(score.verdict_without for score in scores).items())),
            "with": dict(sorted(Counter(score.verdict_with for score in scores).items())),
        },
        "policies": {name: _under(retrieves, scores, resamples, seed) for name, retrieves in policies.items()},
    }


def _under(retrieves: Sequence[float], scores: Sequence[UnitTests], resamples: int, seed: int) -> dict[str, Any]:
    repositories = [score.repository for score in scores]
    passed = [
        (1 - share) * score.passed_without + share * score.passed_with
        for share, score in zip(retrieves, scores, strict=True)
    ]

    def against(others: Sequence[float]) -> dict[str, Any]:
        gains = [mine - other for mine, other in zip(passed, others, strict=True)]
        found = paired_bootstrap(gains, repositories, resamples=resamples, seed=seed)
        return asdict(found) | {"half_width": found.half_width}

    return {
        "pass_rate": mean_over_instances(passed),
        "pass_rate_over_repositories": mean_over_repositories(passed, repositories),
        "share_with_context": mean_over_instances(retrieves),
        "against_never": against([score.passed_without for score in scores]),
        "against_always": against([score.passed_with for score in scores]),
    }


def _hashes(prediction: Prediction) -> tuple[str, str]:
    without, with_context = arms(prediction)
    return body_hash(without), body_hash(with_context)


def _change(score: UnitTests) -> str:
    difference = score.passed_with - score.passed_without
    return "helped" if difference > 0 else "harmed" if difference < 0 else "unchanged"
