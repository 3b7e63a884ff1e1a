"""What came of the executions: pass rates of each model under each policy, and who was helped or harmed (table 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from repoformer.code.records import Prediction
from repoformer.inference.policies import Always, Greedy, Never, Policy, Threshold
from repoformer.metrics.bootstrap import paired_bootstrap
from repoformer.metrics.means import mean_over_instances, mean_over_repositories
from repoformer.models.settings import ModelSettings

from .bodies import arms
from .execution import Execution, body_hash


@dataclass(frozen=True, slots=True)
class UnitTests:
    """Whether a model's two completions of one blank pass: 1 or 0."""

    schema: ClassVar[int] = 1
    id: str
    repository: str
    passed_without: float
    passed_with: float
    verdict_without: str
    verdict_with: str


def unit_tests(prediction: Prediction, executions: Mapping[tuple[str, str], Execution]) -> UnitTests:
    """The verdicts on a prediction's two bodies."""
    blank = prediction.blank
    without, with_context = (executions[blank.id, body_hash(body)].verdict for body in arms(prediction))
    return UnitTests(
        id=blank.id,
        repository=blank.repository,
        passed_without=float(without == "passed"),
        passed_with=float(with_context == "passed"),
        verdict_without=without,
        verdict_with=with_context,
    )


def summarise(
    scores: Sequence[UnitTests],
    predictions: Mapping[str, Prediction],
    settings: ModelSettings,
    *,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """Pass rates of one model. Each policy is compared with ``never`` on the same blanks."""
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
        "policies": {
            policy.name: _under(policy, scores, predictions, resamples, seed)
            for policy in _policies(scores, predictions, settings)
        },
    }


def _under(
    policy: Policy, scores: Sequence[UnitTests], predictions: Mapping[str, Prediction], resamples: int, seed: int
) -> dict[str, Any]:
    asked = [_asks(policy, predictions[score.id]) for score in scores]
    passed = [score.passed_with if ask else score.passed_without for score, ask in zip(scores, asked, strict=True)]
    repositories = [score.repository for score in scores]
    gains = [mine - score.passed_without for mine, score in zip(passed, scores, strict=True)]
    return {
        "pass_rate": mean_over_instances(passed),
        "pass_rate_over_repositories": mean_over_repositories(passed, repositories),
        "retrieved": mean_over_instances([float(ask) for ask in asked]),
        "against_never": asdict(paired_bootstrap(gains, repositories, resamples=resamples, seed=seed)),
    }


def _policies(
    scores: Sequence[UnitTests], predictions: Mapping[str, Prediction], settings: ModelSettings
) -> list[Policy]:
    """Those that the model can follow; none where there is nothing to judge."""
    if not scores:
        return []
    policies: list[Policy] = [Never(), Always()]
    if all(predictions[score.id].p_retrieve is not None for score in scores):
        policies += [Greedy(), Threshold.of(settings)]
    return policies


def _asks(policy: Policy, prediction: Prediction) -> bool:
    return policy.retrieve(prediction.p_retrieve, prediction.greedy, prediction.blank.kind)


def _change(score: UnitTests) -> str:
    difference = score.passed_with - score.passed_without
    return "helped" if difference > 0 else "harmed" if difference < 0 else "unchanged"
