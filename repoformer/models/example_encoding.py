"""``examples.json``: beside assembled examples, whose token ids they hold and which budgets they were cut to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from repoformer.code.storage import read_json, write_json
from repoformer.config import Section, parse_recipe
from repoformer.errors import UserError
from repoformer.models.fingerprint import tokenizer_hash
from repoformer.prompt.budgets import Preset

FILE_NAME = "examples.json"


class ExampleEncoding(Section):
    """What a model must agree with to be trained on the examples, and is then used with."""

    preset: Preset
    tokenizer: str
    """See :func:`repoformer.models.fingerprint.tokenizer_hash`."""

    def check_tokenizer(self, tokenizer: Any, data: Path, model: str) -> None:
        """Refuse a model that reads other text in these token ids."""
        if tokenizer_hash(tokenizer) != self.tokenizer:
            raise UserError(
                f"{data / FILE_NAME}: the examples were assembled with another tokenizer than that of model={model}; "
                "train the model that label.model of their recipe names, or assemble them again with this one"
            )


def load_encoding(data: Path) -> ExampleEncoding | None:
    """The encoding of the examples in a folder; None for examples that do not say."""
    path = data / FILE_NAME
    return parse_recipe(ExampleEncoding, read_json(path), str(path)) if path.is_file() else None


def save_encoding(data: Path, encoding: ExampleEncoding) -> None:
    """Write it beside the examples."""
    write_json(data / FILE_NAME, encoding.model_dump(mode="json"))
