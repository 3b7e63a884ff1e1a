"""A run's plan: what it needs, whether it fits, and what to change where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from repoformer.config import parse_recipe
from repoformer.errors import UserError
from repoformer.planning.architectures import Architecture, architecture
from repoformer.planning.memory import GIB, STRATEGIES, Load, Memory, memory, trained_parameters
from repoformer.planning.schedule import PEAK_TFLOPS, UTILISATION, Examples, Schedule, examples_of, schedule
from repoformer.training.recipe import LoraSettings, TrainRecipe


@dataclass(frozen=True, slots=True)
class Plan:
    """One recipe on a number of GPUs."""

    recipe: TrainRecipe
    shape: Architecture
    gpus: int
    gpu_memory: float | None
    """GiB of each; None where nobody asked whether it fits."""
    examples: Examples
    schedule: Schedule
    memory: dict[str, Memory]
    """By strategy."""

    @property
    def batch_comes_out(self) -> bool:
        """Whether the batch is a whole number of forward passes of all GPUs, as many as the recipe is meant for."""
        return not self.recipe.batch % (self.gpus * self.recipe.micro_batch) and self.recipe.processes in (
            None,
            self.gpus,
        )

    @property
    def fitting(self) -> list[str]:
        """Strategies that fit into memory, the first choice first; all of them where no memory was given."""
        return [name for name, needs in self.memory.items() if not self.gpu_memory or needs.total <= self.gpu_memory]

    @property
    def ready(self) -> bool:
        """Whether it can be launched as it is."""
        return self.batch_comes_out and bool(self.fitting)

    def to_dict(self) -> dict[str, Any]:
        """All figures, for programs."""
        return {
            "model": self.shape.name,
            "parameters": self.shape.parameters,
            "trained_parameters": trained_parameters(self.shape, self.recipe.lora),
            "gpus": self.gpus,
            "gpu_memory": self.gpu_memory,
            "batch_comes_out": self.batch_comes_out,
            "examples": asdict(self.examples),
            **asdict(self.schedule),
            "memory": {name: asdict(needs) | {"total": needs.total} for name, needs in self.memory.items()},
            "fitting": self.fitting,
            "changes": changes(self),
            "hours": {
                kind: [self.schedule.hours(self.gpus, kind, share) for share in reversed(UTILISATION)]
                for kind in PEAK_TFLOPS
            },
        }


def plan(
    recipe: TrainRecipe, gpus: int | None = None, gpu_memory: float | None = None, examples: int | None = None
) -> Plan:
    """Plan ``recipe`` on ``gpus`` GPUs (by default as many as it is meant for) of ``gpu_memory`` GiB."""
    shape = architecture(recipe.model)
    found = examples_of(recipe, shape.budgets, examples)
    return _plan(recipe, shape, gpus or recipe.processes or 1, gpu_memory, found)


def changes(plan: Plan) -> list[str]:
    """Changes each of which makes it ready, tried with the same arithmetic; empty where nothing has to change."""
    if not plan.batch_comes_out:
        return _batches(plan.recipe, plan.gpus)
    if plan.fitting:
        return []
    found: list[str] = []
    enough = plan.gpus  # GPUs that were found to do
    for told, values, gpus in _alternatives(plan):
        if gpus > enough > plan.gpus:
            continue
        recipe = parse_recipe(TrainRecipe, plan.recipe.model_dump(mode="json") | values, "plan")
        changed = _plan(recipe, plan.shape, gpus, plan.gpu_memory, plan.examples)
        if changed.ready:
            enough = max(enough, gpus)
            strategy = changed.fitting[0]
            found.append(f"{told}: fits with {strategy} ({changed.memory[strategy].total:.1f} GiB)")
    return found or ["nothing tried makes it fit: take GPUs with more memory, or a smaller model"]


def _plan(recipe: TrainRecipe, shape: Architecture, gpus: int, gpu_memory: float | None, examples: Examples) -> Plan:
    load = Load(recipe.micro_batch * examples.longest, recipe.micro_batch * (examples.longest_target + 1))
    needs = {name: memory(shape, recipe, strategy, gpus, load) for name, strategy in STRATEGIES.items()}
    return Plan(recipe, shape, gpus, gpu_memory, examples, schedule(shape, recipe, examples), needs)


def _batches(recipe: TrainRecipe, gpus: int) -> list[str]:
    if recipe.processes not in (None, gpus):
        return [f"the recipe is meant for processes={recipe.processes}: launch as many, or set processes={gpus}"]
    share = gpus * recipe.micro_batch
    found = [f"batch={max(1, round(recipe.batch / share)) * share}"]
    smaller = [size for size in range(recipe.micro_batch - 1, 0, -1) if recipe.batch % (gpus * size) == 0]
    return [*found, *(f"micro_batch={size}" for size in smaller[:1])]


def _alternatives(plan: Plan) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Changes from harmless to far-reaching: in words, keys of the recipe, number of GPUs."""
    recipe = plan.recipe
    changed: dict[str, Any] = {}
    if not recipe.activation_checkpointing:
        changed["activation_checkpointing"] = True
        yield _as_overrides(changed), dict(changed), plan.gpus
    size = recipe.micro_batch
    while size > 1:
        size = next(one for one in range(size - 1, 0, -1) if recipe.batch % (plan.gpus * one) == 0)
        changed["micro_batch"] = size
        yield _as_overrides(changed), dict(changed), plan.gpus
    for gpus in (2 * plan.gpus, 4 * plan.gpus, 8 * plan.gpus):
        if recipe.batch % (gpus * size) == 0:
            more = changed | {"processes": gpus}
            yield f"--gpus {gpus} {_as_overrides(more)}", more, gpus
    if recipe.lora is None:
        adapters = changed | {"lora": LoraSettings().model_dump()}
        yield f"{_as_overrides(changed)} lora.rank={LoraSettings().rank}".strip(), adapters, plan.gpus


def _as_overrides(values: dict[str, Any]) -> str:
    return " ".join(f"{key}={str(value).lower()}" for key, value in values.items())


# -- in words --------------------------------------------------------------------------------------------------------


def describe(plan: Plan) -> str:
    """The plan as text for a terminal."""
    return "\n".join([*_run(plan), "", *_table(plan), "", *_verdict(plan)])


def _run(plan: Plan) -> list[str]:
    recipe, shape, run, examples = plan.recipe, plan.shape, plan.schedule, plan.examples
    trained = trained_parameters(shape, recipe.lora)
    which = "all trained" if trained == shape.parameters else f"{trained / 1e6:.2f} M trained"
    passes = recipe.batch / (plan.gpus * recipe.micro_batch)
    most = "" if examples.origin.startswith("in ") else "at most "
    hours = ", ".join(
        f"{kind} {run.hours(plan.gpus, kind, UTILISATION[1]):.1f} to {run.hours(plan.gpus, kind, UTILISATION[0]):.1f}"
        for kind in PEAK_TFLOPS
    )
    return [
        f"model     {shape.name}: {shape.parameters / 1e9:.3f} B parameters, {which} (shape: {shape.origin})",
        f"batch     {recipe.batch} examples = {plan.gpus} GPUs * {recipe.micro_batch} * {passes:g} forward passes"
        + ("" if plan.batch_comes_out else "  <- DOES NOT COME OUT"),
        f"examples  {examples.number:,} ({examples.origin})",
        f"steps     {run.steps:,}, {recipe.epochs:g} epochs, {most}{run.tokens / 1e9:.3g} B tokens",
        f"hours     {most}{hours} (at {UTILISATION[1]:.0%} to {UTILISATION[0]:.0%} of their peak)",
        f"host      {shape.parameters * 4 / GIB:.1f} GiB of main memory for each process while it loads the model",
    ]


def _table(plan: Plan) -> list[str]:
    names = [*Memory.__dataclass_fields__, "total"]
    limit = f" of {plan.gpu_memory:g}" if plan.gpu_memory else ""
    rows = [f"GiB of one of {plan.gpus} GPUs at its peak{limit}, by recipes/accelerate/*.yaml:"]
    rows.append(" " * 7 + "".join(f"{name:>12}" for name in names))
    for strategy, needs in plan.memory.items():
        fits = "" if plan.gpu_memory is None else "  fits" if strategy in plan.fitting else "  does not fit"
        rows.append(f"{strategy:7}" + "".join(f"{getattr(needs, name):12.1f}" for name in names) + fits)
    return rows


def _verdict(plan: Plan) -> list[str]:
    proposals = changes(plan)
    if not plan.batch_comes_out:
        return ["NOT READY: the batch does not come out; change one of", *(f"  {change}" for change in proposals)]
    if not plan.fitting:
        return ["DOES NOT FIT with any strategy; change one of", *(f"  {change}" for change in proposals)]
    nodes = f" --num_processes {plan.gpus}" if plan.gpus > 1 else ""
    config = f"recipes/accelerate/{plan.fitting[0]}.yaml"
    return [f"launch: accelerate launch --config_file {config}{nodes} -m repoformer.training.cli RECIPE"]


def check_numbers(gpus: int | None, gpu_memory: float | None, examples: int | None) -> None:
    """Refuse what no machine has."""
    for name, value in (("--gpus", gpus), ("--gpu-memory", gpu_memory), ("--examples", examples)):
        if value is not None and not value > 0:
            raise UserError(f"{name} {value:g}: write a number above zero")
