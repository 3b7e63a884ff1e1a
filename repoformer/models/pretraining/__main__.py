"""The pocket model from nothing.

    python -m repoformer.models.pretraining STEP recipes/pocket/pretrain.yaml [KEY=VALUE ...]

Steps: ``prepare`` fetches the corpus and turns it into a token file, ``train`` trains on that file (it needs nothing
else, so the file can be carried to another machine) and exports, ``export`` exports the latest checkpoint, ``all``
does these, and ``measure`` prints the probes of an exported model. Each can be stopped and run again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from repoformer.code.sources.manifest import Manifest, fetch
from repoformer.code.storage import write_json
from repoformer.config import load_recipe
from repoformer.errors import UserError
from repoformer.models.loading import load_model
from repoformer.models.pretraining.corpus import installed_repositories, repositories, without_copies
from repoformer.models.pretraining.probes import draw_held_out, measure
from repoformer.models.pretraining.recipe import PocketRecipe
from repoformer.models.pretraining.run import export_checkpoint, prepare, train


def main(argv: Sequence[str]) -> int:
    """Run one step; 0 when it came to its end, 3 when it was asked to stop before, 2 for a user's mistake."""
    steps = {"prepare": _prepare, "train": _train, "export": _export, "all": _all, "measure": _measure}
    if len(argv) < 2 or argv[0] not in steps:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return steps[argv[0]](load_recipe(PocketRecipe, Path(argv[1]), argv[2:]))
    except UserError as error:
        print(error, file=sys.stderr)
        return 2


def _all(recipe: PocketRecipe) -> int:
    if recipe.data is None and not (recipe.data_dir / "key.json").exists():
        _prepare(recipe)
    return _train(recipe)


def _prepare(recipe: PocketRecipe) -> int:
    if recipe.data is not None:
        raise UserError(f"data: {recipe.data} is another run's; run `prepare` with the recipe of that run")
    corpus = load_recipe(Manifest, recipe.corpus)
    wheels, unpacked = recipe.out / "wheels", recipe.out / "unpacked"
    fetch(corpus.packages, wheels)
    trained_on = repositories(corpus.used_for("pretrain"), wheels, unpacked)
    probed = repositories(corpus.used_for("probe"), wheels, unpacked)
    held_out = repositories(corpus.used_for("label", "evaluate"), wheels, unpacked)
    installed = installed_repositories(sorted({package.licence for package in corpus.packages}))
    kept, removed = without_copies(trained_on, [*probed, *held_out, *installed])
    write_json(recipe.out / "copies.json", removed)
    prepare(kept, probed, recipe.data_dir, recipe.pretrain)
    return 0


def _train(recipe: PocketRecipe) -> int:
    exported = train(recipe.out, recipe.data_dir, recipe.pretrain)
    print(f"exported to {exported}" if exported else "stopped; run it again to go on")
    return 0 if exported else 3


def _export(recipe: PocketRecipe) -> int:
    print(f"exported to {export_checkpoint(recipe.out, recipe.data_dir, recipe.pretrain)}")
    return 0


def _measure(recipe: PocketRecipe) -> int:
    """Probe a model on freshly drawn blanks of held-out packages, as many as ``pretrain.probes`` says."""
    packages = load_recipe(Manifest, recipe.corpus).used_for(*recipe.measured_on)
    fetch(packages, recipe.out / "wheels")
    probed = repositories(packages, recipe.out / "wheels", recipe.out / "unpacked")
    held_out = draw_held_out(probed, recipe.pretrain)
    loaded = load_model(recipe.measured)
    print(
        json.dumps(
            {"model": loaded.name} | measure(loaded, loaded.builder(), held_out, recipe.pretrain.probes.completed),
            indent=2,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
