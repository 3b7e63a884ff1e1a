"""Labels: the same after a kill, by an endpoint, by likelihood; and one stage of some shards at a time."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from repoformer.cli import main
from repoformer.code.records import Example, LabeledBlank
from repoformer.code.storage import read_parquet
from repoformer.data_pipeline import generators, runner
from repoformer.data_pipeline.recipe import DataRecipe
from repoformer.data_pipeline.status import status
from repoformer.errors import UserError

RecipeFor = Callable[..., DataRecipe]
BEFORE = ("collect", "split", "sample", "retrieve")
SAMPLE = {"chunks_per_repository": 4, "functions_per_repository": 0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("finished")


@pytest.fixture
def retrieved(finished: Path, tmp_path: Path, recipe_for: RecipeFor) -> Path:
    """A copy of a run that stopped before it labelled."""
    runner.run(recipe_for(finished, sample=SAMPLE), steps=BEFORE)
    return Path(shutil.copytree(finished, tmp_path / "retrieved"))


@pytest.fixture
def labelling(model: Path, recipe_for: RecipeFor) -> Callable[..., DataRecipe]:
    def recipe(out: Path, **label: Any) -> DataRecipe:
        return recipe_for(out, sample=SAMPLE, label={"model": str(model), "batch": 4, **label})

    return recipe


def labels(out: Path) -> list[LabeledBlank]:
    return read_parquet(LabeledBlank, out / "label")


class Killed(BaseException):
    pass


def test_a_kill_inside_a_shard_loses_one_batch_and_changes_nothing(
    retrieved: Path, labelling: RecipeFor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path(shutil.copytree(retrieved, tmp_path / "other"))
    runner.run(labelling(other), steps=("label",))
    complete, batches = generators.LocalGenerator.complete, []

    def dying(self: Any, batch: Any) -> Any:
        batches.append(len(batch))
        if len(batches) in (2, 4):
            raise Killed
        return complete(self, batch)

    monkeypatch.setattr(generators.LocalGenerator, "complete", dying)
    for _ in range(2):
        with pytest.raises(Killed):
            runner.run(labelling(retrieved), steps=("label",))
    runner.run(labelling(retrieved), steps=("label",))
    assert labels(retrieved) == labels(other)
    assert sum(batches) - batches[1] - batches[3] == len(labels(other)), "only what was killed is done again"
    assert not list(retrieved.rglob("*.log.jsonl"))


def test_labels_say_what_made_them(retrieved: Path, labelling: RecipeFor, model: Path) -> None:
    runner.run(labelling(retrieved), steps=("label",))
    (facts,) = {(one.generator, one.revision, one.decoding) for one in labels(retrieved)}
    assert facts[0] == str(model)
    assert len(facts[1]) == 16
    assert facts[2].startswith("greedy; base prompt of 384 + 128 + 256 tokens (pocket); at most 192 new tokens")
    assert all(one.likelihood_gain is None for one in labels(retrieved))


def test_the_gain_of_an_example_can_be_that_in_likelihood(retrieved: Path, labelling: RecipeFor) -> None:
    runner.run(labelling(retrieved, likelihood=True, by="likelihood"), steps=("label", "assemble", "card"))
    gains = {one.blank.id: one.likelihood_gain for one in labels(retrieved)}
    assert len(set(gains.values())) > 5
    examples = [one for side in ("train", "validation") for one in read_parquet(Example, retrieved / "assemble" / side)]
    assert examples
    assert all(one.gain == gains[one.id] for one in examples)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ({"by": "likelihood"}, "only known with likelihood: true"),
        ({"likelihood": True, "endpoint": {"url": "http://h", "model": "m", "dialect": "starcoder"}}, "text only"),
    ],
)
def test_what_cannot_be_known_is_refused(labelling: RecipeFor, tmp_path: Path, label: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        labelling(tmp_path, **label)


# -- endpoints -------------------------------------------------------------------------------------------------------


class Served(BaseHTTPRequestHandler):
    """A served model that echoes what stands before the hole, or what the test says."""

    prompts: list[str] = []
    broken = staticmethod(lambda prompt: False)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.prompts.append(body["prompt"])
        text = {"text": f"{len(body['prompt'])}\nsecond\n<|endoftext|>"}
        answer = b"nonsense" if self.broken(body["prompt"]) else json.dumps({"choices": [text]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def served() -> Iterator[type[Served]]:
    handler = type("OneServed", (Served,), {"prompts": []})
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.endpoint = {  # type: ignore[attr-defined]
        "url": f"http://127.0.0.1:{running.server_port}/v1",
        "model": "served",
        "dialect": "starcoder",
        "pause": 0.0,
        "retries": 1,
        "timeout": 5.0,
    }
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield handler
    running.shutdown()
    running.server_close()


def test_an_endpoint_labels_and_control_tokens_in_code_are_set_aside(
    retrieved: Path, labelling: RecipeFor, served: Any
) -> None:
    runner.run(labelling(retrieved, endpoint=served.endpoint), steps=("label",))
    found = labels(retrieved)
    done = [json.loads(path.read_text()) for path in sorted((retrieved / "label").glob("*.done.json"))]
    dropped = {reason: count for each in done for reason, count in each["dropped"].items()}
    # The docstrings of the made-up repositories spell <fim_middle>; <cc> is no token of this family.
    assert set(dropped) <= {"its prompt holds '<fim_middle>' as text, which an endpoint reads as a control token"}
    assert dropped
    assert all(prompt.count("<fim_middle>") == 1 for prompt in served.prompts)
    assert {(one.generator, one.revision) for one in found} <= {("served", "")}
    for one in found:
        assert one.completion_without.endswith("second\n")
        assert served.endpoint["url"] in one.decoding


def test_prompts_without_a_usable_answer_are_set_aside_and_the_rest_is_labelled(
    retrieved: Path, labelling: RecipeFor, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repoformer.prompt import text_prompt

    monkeypatch.setattr(text_prompt.TextPrompts, "_refuse_control", lambda self, text: None)
    served.broken = staticmethod(lambda prompt: len(prompt) % 3 == 0)
    runner.run(labelling(retrieved, endpoint=served.endpoint, batch=16), steps=("label",))
    done = [json.loads(path.read_text()) for path in sorted((retrieved / "label").glob("*.done.json"))]
    counts = [sum(each["dropped"].values()) for each in done]
    assert sum(counts) > 0
    assert len(labels(retrieved)) > 0
    assert sum(counts) + len(labels(retrieved)) == sum(each["units"] for each in done)
    assert all("no completion in the answer" in reason for each in done for reason in each["dropped"])


def test_an_endpoint_that_answers_nothing_stops_the_run(
    retrieved: Path, labelling: RecipeFor, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repoformer.prompt import text_prompt

    monkeypatch.setattr(text_prompt.TextPrompts, "_refuse_control", lambda self, text: None)
    served.broken = staticmethod(lambda prompt: True)
    with pytest.raises(UserError, match=r"none of \d+ requests was answered.*no completion in the answer"):
        runner.run(labelling(retrieved, endpoint=served.endpoint), steps=("label",))
    assert not list((retrieved / "label").glob("*.done.json"))


# -- steps, shards, status -------------------------------------------------------------------------------------------


def test_shards_of_a_stage_in_any_order_are_the_whole_run(
    retrieved: Path, labelling: RecipeFor, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(retrieved, tmp_path / "other"))
    runner.run(labelling(other), steps=("label", "assemble", "card"))
    for number in (2, 0, 1):
        runner.run(labelling(retrieved), steps=("label", "assemble"), shards=[number])
    runner.run(labelling(retrieved), steps=("card",))
    assert labels(retrieved) == labels(other)
    assert (retrieved / "data-card.json").read_bytes() == (other / "data-card.json").read_bytes()


def test_a_stage_waits_for_those_before_it(retrieved: Path, labelling: RecipeFor) -> None:
    with pytest.raises(UserError, match=r"3 of 3 shards of label are not finished.*--stage label"):
        runner.run(labelling(retrieved), steps=("assemble",))
    changed = labelling(retrieved).model_copy(update={"seed": 7})
    with pytest.raises(UserError, match="1 of 1 shards of sample are not finished"):
        runner.run(changed, steps=("label",), shards=[1])


@pytest.mark.parametrize(
    ("steps", "shards", "said"),
    [
        (("labels",), None, "no such stage; choose from collect, split"),
        (("card",), [0], "works on all shards at once"),
        (("label",), [2, 3], "--shards 3: the recipe has shards 0 to 2"),
    ],
)
def test_a_part_that_is_none_is_refused(
    retrieved: Path, labelling: RecipeFor, steps: Any, shards: Any, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        runner.run(labelling(retrieved), steps=steps, shards=shards)


def test_the_status_says_what_is_missing_and_how_long_it_will_take(
    retrieved: Path, labelling: RecipeFor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = labelling(retrieved)
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe.model_dump_json())
    assert main(["data", "run", str(path), "--stage", "label", "--shards", "0,2"]) == 0
    by_name = {stage.stage: stage for stage in status(retrieved).stages}
    assert by_name["retrieve"].missing == ()
    label = by_name["label"]
    assert label.missing == (1,)
    assert (
        label.units_left == json.loads((retrieved / "retrieve" / "part-00001-of-00003.done.json").read_text())["rows"]
    )
    assert label.seconds_left is not None
    assert label.seconds_left > 0
    assert by_name["assemble"].seconds_left is None, "nothing was measured yet"
    capsys.readouterr()
    assert main(["data", "status", str(retrieved), "--missing", "label"]) == 0
    assert capsys.readouterr().out == "1\n"
    assert main(["data", "status", str(retrieved)]) == 0
    assert re.search(r"at least [\d.]+ s left, time not known yet for assemble\n", capsys.readouterr().out)
    assert main(["data", "run", str(path)]) == 0
    capsys.readouterr()
    assert main(["data", "status", str(retrieved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"] is True


def test_no_time_is_told_while_nothing_was_measured_of_what_is_left(retrieved: Path) -> None:
    assert status(retrieved).lines(1)[-1] == f"{retrieved}: time not known yet for label, assemble"


def test_a_folder_that_is_no_data_set_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "status", str(tmp_path)]) == 2
    assert "holds no data set, there is no run.json; name the folder" in capsys.readouterr().err


def test_the_card_of_a_data_set_is_what_datasets_reads_it_by(
    retrieved: Path, labelling: RecipeFor, tmp_path: Path
) -> None:
    import datasets

    runner.run(labelling(retrieved))
    loaded = datasets.load_dataset(str(retrieved), cache_dir=str(tmp_path / "cache"))
    card = json.loads((retrieved / "data-card.json").read_text())
    assert set(loaded) == {"train", "validation"}
    assert sum(len(split) for split in loaded.values()) == card["rows"]["assemble"]
    assert card["labels_by"]["licence"]["MIT"]["blanks"] == card["labels_by"]["language"]["python"]["blanks"]
    lengths = [len(row["target"]) for row in loaded["train"]]
    assert card["tokens"]["train"]["target"]["longest"] == max(lengths)
    page = (retrieved / "data-card.html").read_text()
    assert "change of edit similarity" in page
    assert "GPL-3.0-only is not allowed" in page
