"""A model, its tokenizer and its settings from a local folder, or from the hub where the caller asks for a download."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from repoformer.errors import UserError
from repoformer.models.settings import FILE_NAME, ModelSettings, load_settings
from repoformer.prompt.budgets import COMPLETION, Budgets, Preset
from repoformer.prompt.builder import PromptBuilder, Style
from repoformer.prompt.dialects import DIALECTS, END_OF_FILE_CONTEXT, RETRIEVE, Dialect, dialect_named

POCKET = Path(__file__).parent / "pocket"
"""Where the packaged pocket model lies; ``pocket`` names it wherever a model is named."""

_SAFE_FILES = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A causal language model in evaluation mode, ready to complete."""

    model: Any
    tokenizer: Any
    settings: ModelSettings
    name: str
    settings_from: str = FILE_NAME
    """``repoformer.json``, or in words where the settings of a foreign model come from."""

    def builder(self, style: Style | None = None) -> PromptBuilder:
        """The prompt builder of this model; ``style`` overrides the style it was trained with."""
        dialect = dialect_named(self.settings.dialect)
        return PromptBuilder(self.tokenizer, dialect, self.settings.budgets, style or self.settings.style)

    @property
    def positions(self) -> int | None:
        """Most tokens the model can hold, prompt and completion together; None for a model without such a limit."""
        return positions_of(self.model)

    def check_positions(self, budgets: Budgets, kinds: set[str]) -> None:
        """Refuse budgets that could run past the model's last position, before any work is done."""
        needed = budgets.prompt + max((budgets.generated(kind) for kind in kinds), default=0)
        if self.positions is not None and needed > self.positions:
            raise UserError(
                f"model {self.name!r} has {self.positions} positions, the budgets of preset {self.settings.preset!r} "
                f"need {needed}; choose a smaller preset in its {FILE_NAME} or a model with more positions"
            )


def load_model(name_or_path: str | Path, *, device: str = "cpu", download: bool = False) -> LoadedModel:
    """Load a model for inference: safetensors only, no remote code, float32 on the CPU and bfloat16 elsewhere.

    ``pocket`` is the packaged model; anything else is a local folder, or a hub name, which is looked for in the local
    hub cache and fetched only with ``download``. A model that was not made by this project gets settings detected from
    its tokenizer.
    """
    name = str(name_or_path)
    folder = weights_folder(name, download=download)
    settings = load_settings(folder)
    target = usable_device(device)
    tokenizer = _load_tokenizer(folder, name)
    model = _load_weights(folder, name, dtype_on(target)).to(target).eval()
    _check_vocabulary(model, tokenizer, name)
    if settings is not None:
        return LoadedModel(model, tokenizer, settings, name)
    detected = detect_settings(tokenizer, positions_of(model), name)
    return LoadedModel(model, tokenizer, detected, name, "detected from the tokenizer")


def dtype_on(device: torch.device) -> torch.dtype:
    """The precision of inference on a device."""
    return torch.float32 if device.type == "cpu" else torch.bfloat16


def load_tokenizer(name_or_path: str | Path, *, download: bool = False) -> tuple[Any, Dialect]:
    """A model's tokenizer and its dialect, without its weights; named like the model in :func:`load_model`."""
    name = str(name_or_path)
    folder = model_folder(name, download=download)
    tokenizer = _load_tokenizer(folder, name)
    settings = load_settings(folder)
    return tokenizer, dialect_named(settings.dialect) if settings else detect_dialect(set(tokenizer.get_vocab()), name)


def positions_of(model: Any) -> int | None:
    """The number of positions in a model's configuration, whatever family it is of."""
    positions = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    return int(positions) if positions else None


# -- settings of a foreign model -------------------------------------------------------------------------------------


def detect_settings(tokenizer: Any, positions: int | None, name: str) -> ModelSettings:
    """Settings of a model that carries none: dialect and style by its control tokens, preset by its positions."""
    vocabulary = set(tokenizer.get_vocab())
    style: Style = "selective" if {RETRIEVE, END_OF_FILE_CONTEXT} <= vocabulary else "base"
    return ModelSettings(
        dialect=detect_dialect(vocabulary, name).name,
        style=style,
        preset=_preset_within(positions, name),
        thresholds_from="the paper's, not chosen for this model" if style == "selective" else "",
    )


def detect_dialect(vocabulary: set[str], name: str) -> Dialect:
    """The one dialect all of whose control tokens the vocabulary has, the most specific where one includes another."""
    fitting = [dialect for dialect in DIALECTS.values() if _tokens(dialect) <= vocabulary]
    fitting = [one for one in fitting if not any(_tokens(one) < _tokens(other) for other in fitting)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UserError(
            f"model {name!r}: its tokens fit the dialects {' and '.join(dialect.name for dialect in fitting)}; "
            f"write the right one into its {FILE_NAME}"
        )
    nearest = min(DIALECTS.values(), key=lambda dialect: len(_tokens(dialect) - vocabulary))
    missing = ", ".join(sorted(_tokens(nearest) - vocabulary))
    raise UserError(
        f"model {name!r}: no fill-in-the-middle dialect fits its tokenizer; nearest is {nearest.name}, "
        f"missing {missing}; choose a fill-in-the-middle model"
    )


def _tokens(dialect: Dialect) -> set[str]:
    tokens = (dialect.begin, dialect.prefix, dialect.suffix, dialect.middle, dialect.end, dialect.file_separator)
    return {token for token in tokens if token is not None}


def _preset_within(positions: int | None, name: str) -> Preset:
    presets: tuple[Preset, ...] = ("paper", "pocket")
    needs = {preset: COMPLETION[preset].prompt + COMPLETION[preset].new_tokens_function for preset in presets}
    for preset in presets:
        if positions is None or positions >= needs[preset]:
            return preset
    raise UserError(
        f"model {name!r} has {positions} positions, the smallest preset needs {needs['pocket']}; choose a larger model"
    )


# -- files -----------------------------------------------------------------------------------------------------------


def model_folder(name: str, *, download: bool = False) -> Path:
    """Where the files of a model lie, whether it is ``pocket``, a folder, or a name on the hub; nothing is loaded."""
    if name == "pocket":
        if not any(POCKET.glob("*.safetensors")):
            raise UserError(
                "model 'pocket': its weights are not installed; name a model folder, or run `repoformer quickstart`, "
                "which trains a tiny model"
            )
        return POCKET
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UserError(f"model {name!r}: this is a file; name the folder that holds config.json and *.safetensors")
    return _from_hub(name, download)


def weights_folder(name: str, *, download: bool = False) -> Path:
    """The same of a model whose weights are needed: a folder without usable ones is refused. Nothing is loaded."""
    folder = model_folder(name, download=download)
    _check_weights(folder, name)
    return folder


def _from_hub(name: str, download: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=not download, allow_patterns=_SAFE_FILES))
    except HFValidationError:
        raise UserError(f"model {name!r}: no such folder; check the path") from None
    except LocalEntryNotFoundError:
        advice = "check the network" if download else "check the path, or allow fetching it from the hub (--download)"
        raise UserError(f"model {name!r}: no such folder and not in the local hub cache; {advice}") from None
    except (OSError, ValueError) as error:  # every error of the hub client is one of these
        raise UserError(f"model {name!r}: cannot fetch it from the hub ({_one_line(error)}); check the name") from None


def _check_weights(folder: Path, name: str) -> None:
    if not (folder / "config.json").is_file():
        raise UserError(f"model {name!r}: no config.json in this folder; name the folder of an exported model")
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickles:
        raise UserError(
            f"model {name!r}: only pickled weights ({pickles[0]}), which can run code when they are loaded; "
            "convert them to safetensors"
        )
    raise UserError(f"model {name!r}: no *.safetensors in this folder; export the model again")


def usable_device(device: str) -> torch.device:
    """The device of this name; refused where it is none, or not here."""
    try:
        target = torch.device(device)
    except RuntimeError:
        raise UserError(f"device {device!r} is unknown; write cpu, cuda or cuda:N") from None
    if target.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device {device!r}: no GPU is visible here; use cpu")
    return target


def _load_tokenizer(folder: Path, name: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the readers of the many tokenizer formats have no common error
        raise UserError(
            f"model {name!r}: no usable tokenizer in its folder ({_one_line(error)}); export the model again"
        ) from error


def _load_weights(folder: Path, name: str, dtype: torch.dtype) -> Any:
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM

    loader: Any = AutoModelForCausalLM
    try:
        with _transformers_quiet():
            model, report = loader.from_pretrained(
                folder,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                ignore_mismatched_sizes=True,  # refused below, in one line
                output_loading_info=True,
            )
    except SafetensorError as error:
        raise UserError(
            f"model {name!r}: broken safetensors ({_one_line(error)}); copy or export the model again"
        ) from None
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise UserError(f"model {name!r}: cannot load it ({_one_line(error)}); choose another model") from None
    # What the files lack, or hold in another shape, transformers fills with random numbers.
    absent = sorted([*report["missing_keys"], *(str(key) for key, *_ in report["mismatched_keys"])])
    if absent:
        raise UserError(
            f"model {name!r}: {len(absent)} weights of its configuration are not in its files, {absent[0]} first; "
            "export the model again"
        )
    return model


def _check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    embedded = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > embedded:
        raise UserError(
            f"model {name!r}: its tokenizer has {len(tokenizer)} tokens, its weights embed {embedded}; "
            "put the tokenizer it was trained with into its folder"
        )


@contextmanager
def _transformers_quiet() -> Iterator[None]:
    """Without its report of missing weights: what it warns of is refused here."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "..."
