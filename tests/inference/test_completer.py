"""One pass: read once, decide, retrieve only if asked, go on in the same cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repoformer.code.records import Blank, Chunk, Kind, RankedChunk, RetrievedContext
from repoformer.errors import UserError
from repoformer.inference.arms import ArmRequest, complete_arms
from repoformer.inference.cached_pass import CachedPass
from repoformer.inference.completer import NO_DECISIONS, NOTHING_TO_SHOW, WROTE_NOTHING, SelectiveCompleter
from repoformer.inference.policies import Always, Greedy, Never, Threshold
from repoformer.models.loading import LoadedModel

BlankAndContext = tuple[Blank, tuple[Chunk, ...]]


class Source:
    """Gives fixed chunks and counts how often it is asked."""

    def __init__(self, chunks: tuple[Chunk, ...]) -> None:
        self.chunks = chunks
        self.asked = 0

    def retrieve(self, blank: Blank) -> RetrievedContext:
        self.asked += 1
        return RetrievedContext(tuple(RankedChunk(chunk, 0.5) for chunk in self.chunks), "", False, "fixed", 0.0)


@pytest.fixture(scope="module")
def completer(loaded: LoadedModel) -> SelectiveCompleter:
    return SelectiveCompleter(loaded)


@pytest.fixture
def repository(tmp_path: Path, python_sources: list[str]) -> Path:
    for number, source in enumerate(python_sources[:4]):
        (tmp_path / f"module_{number}.py").write_text(source, encoding="utf-8")
    return tmp_path


def test_both_decisions_give_what_the_arms_give(completer: SelectiveCompleter, blanks: list[BlankAndContext]) -> None:
    for blank, chunks in blanks[:10]:
        (arms,) = complete_arms(completer.loaded, [ArmRequest(blank, chunks)], progress=False)
        assert completer.complete(blank, Source(chunks), Never()).text == arms.text_without
        assert completer.complete(blank, Source(chunks), Always()).text == arms.text_with
        assert completer.complete(blank, Source(chunks), Always()).p_retrieve == arms.p_retrieve


def test_the_decision_to_retrieve_feeds_the_context_and_the_other_does_not(
    completer: SelectiveCompleter, blanks: list[BlankAndContext], fed: Callable[[Any], Any]
) -> None:
    builder = completer.loaded.builder()
    blank, chunks = blanks[0]
    context = builder.cross_file(chunks, "#")
    in_file = builder.in_file_part(builder.in_file(blank.left, blank.right))
    p_retrieve = completer.complete(blank, Source(chunks), Never()).p_retrieve
    assert p_retrieve is not None
    for policy, branch in (
        (Threshold(p_retrieve * 0.99), [builder.retrieve_id, *context, builder.middle_id]),
        (Threshold(min(p_retrieve * 1.01, 1.0)), [builder.middle_id]),
    ):
        with fed(completer.loaded.model) as segments:
            completion = completer.complete(blank, Source(chunks), policy)
        assert completion.decision == (len(branch) > 1)
        assert [row for (row,) in segments[:2]] == [in_file, branch]
        assert all(len(row) == 1 for (row,) in segments[2:]), "nothing is read twice"


def test_retrieval_runs_only_when_asked(completer: SelectiveCompleter, blanks: list[BlankAndContext]) -> None:
    blank, chunks = blanks[1]
    asked = {}
    for policy in (Never(), Always(), Threshold(1.0), Threshold(0.0)):
        source = Source(chunks)
        completion = completer.complete(blank, source, policy)
        asked[policy] = source.asked
        assert completion.decision == bool(source.asked) == bool(completion.chunks)
        assert (completion.timings.retrieve is None) == (not source.asked)
    assert list(asked.values()) == [0, 1, 0, 1]


def test_greedy_follows_the_arg_max(completer: SelectiveCompleter, blanks: list[BlankAndContext]) -> None:
    blank, chunks = blanks[2]
    (arms,) = complete_arms(completer.loaded, [ArmRequest(blank, chunks)], progress=False)
    assert completer.complete(blank, Source(chunks), Greedy()).decision == arms.greedy


def test_a_completion_says_which_threshold_decided(
    completer: SelectiveCompleter, blanks: list[BlankAndContext]
) -> None:
    by_kind: dict[Kind, float] = {"line": 0.1, "api": 0.2, "chunk": 0.3, "function": 0.4}
    for blank, chunks in blanks:
        completion = completer.complete(blank, Source(chunks), Threshold(by_kind))
        assert (completion.kind, completion.threshold) == (blank.kind, by_kind[blank.kind])
        assert completion.p_retrieve is not None
        assert completion.decision == (completion.p_retrieve > by_kind[blank.kind])


def test_a_model_that_writes_nothing_is_said_to(
    completer: SelectiveCompleter, blanks: list[BlankAndContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    blank, chunks = blanks[0]
    monkeypatch.setattr(CachedPass, "decode", lambda self, stops: [[] for _ in stops])
    assert completer.complete(blank, Source(chunks), Always()).note == WROTE_NOTHING


def test_nothing_found_is_completed_without_context_and_said(
    completer: SelectiveCompleter, blanks: list[BlankAndContext], fed: Callable[[Any], Any]
) -> None:
    blank, _ = blanks[3]
    with fed(completer.loaded.model) as segments:
        completion = completer.complete(blank, Source(()), Always())
    assert completion.note == NOTHING_TO_SHOW
    assert completion.text == completer.complete(blank, Source(()), Never()).text
    assert segments[1] == [[completer.loaded.builder().middle_id]]


def test_the_default_policy_is_the_models_thresholds(loaded: LoadedModel, blanks: list[BlankAndContext]) -> None:
    blank, chunks = blanks[4]
    for threshold, decision in ((0.0, True), (1.0, False)):
        settings = loaded.settings.model_copy(update={"thresholds": {blank.kind: threshold}})
        completer = SelectiveCompleter(dataclasses.replace(loaded, settings=settings))
        assert completer.complete(blank, Source(chunks)).decision is decision


def test_a_model_without_decision_is_asked_for_none(loaded: LoadedModel, blanks: list[BlankAndContext]) -> None:
    blank, chunks = blanks[5]
    base = SelectiveCompleter(
        dataclasses.replace(loaded, settings=loaded.settings.model_copy(update={"style": "base"}))
    )
    for policy in (Greedy(), Threshold(0.5)):
        source = Source(chunks)
        with pytest.raises(UserError, match="was not trained to decide.* use the policy 'never' or 'always'"):
            base.complete(blank, source, policy)
        assert not source.asked
    (arms,) = complete_arms(loaded, [ArmRequest(blank, chunks)], style="base", progress=False)
    assert base.complete(blank, Source(chunks), Never()).text == arms.text_without
    always = base.complete(blank, Source(chunks), Always())
    assert (always.text, always.p_retrieve, always.note) == (arms.text_with, None, "")


def test_a_model_without_decision_retrieves_always_unless_told_otherwise_and_says_so(
    loaded: LoadedModel, blanks: list[BlankAndContext]
) -> None:
    blank, chunks = blanks[5]
    base = SelectiveCompleter(
        dataclasses.replace(loaded, settings=loaded.settings.model_copy(update={"style": "base"}))
    )
    completion = base.complete(blank, Source(chunks))
    assert (completion.decision, completion.policy, completion.note) == (True, "always", NO_DECISIONS)


def test_budgets_beyond_the_positions_are_refused_at_once(loaded: LoadedModel) -> None:
    with pytest.raises(UserError, match="1024 positions"):
        SelectiveCompleter(dataclasses.replace(loaded, settings=loaded.settings.model_copy(update={"preset": "paper"})))


# -- in a working tree -----------------------------------------------------------------------------------------------


def test_context_comes_from_the_other_files(completer: SelectiveCompleter, repository: Path) -> None:
    completion = completer.complete_at(repository, "module_0.py:100", policy=Always())
    assert completion.chunks
    assert "module_0.py" not in {ranked.chunk.path for ranked in completion.chunks}
    for ranked in completion.chunks:
        lines = (repository / ranked.chunk.path).read_text(encoding="utf-8").split("\n")
        assert "\n".join(lines[ranked.chunk.start : ranked.chunk.end]) == ranked.chunk.text


def test_a_repository_is_read_once_and_only_when_asked(
    completer: SelectiveCompleter, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repoformer.inference import working_tree

    read: list[Path] = []
    original = working_tree.source_paths
    monkeypatch.setattr(working_tree, "source_paths", lambda root: read.append(root) or original(root))
    completer.complete_at(repository, "module_0.py:10", policy=Never())
    assert read == []
    first = completer.complete_at(repository, "module_0.py:10", policy=Always())
    again = completer.complete_at(str(repository), "module_1.py:20", policy=Always())
    assert read == [repository]
    assert first.chunks != again.chunks


def test_the_file_itself_is_read_every_time(completer: SelectiveCompleter, repository: Path) -> None:
    completer.complete_at(repository, "module_0.py:10", policy=Always())
    (repository / "module_0.py").write_text("x = 1\n")
    with pytest.raises(UserError, match="has no line 10"):
        completer.complete_at(repository, "module_0.py:10", policy=Always())


def test_lines_are_what_is_asked_for(completer: SelectiveCompleter, repository: Path) -> None:
    for options in ({"lines": 3}, {"replace": 3}):
        completion = completer.complete_at(repository, "module_0.py:40", policy=Never(), **options)
        assert completion.text.count("\n") <= 2
        if completion.stopped_by == "lines":
            assert completion.text.count("\n") == 2
    with pytest.raises(UserError, match="choose 1 or more"):
        completer.complete_at(repository, "module_0.py:40", lines=0)


def test_replaced_lines_are_in_no_prompt(
    completer: SelectiveCompleter, repository: Path, fed: Callable[[Any], Any]
) -> None:
    path = repository / "module_0.py"
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:30], "secret_of_the_target = 1", *lines[30:]]), encoding="utf-8")
    with fed(completer.loaded.model) as segments:
        completer.complete_at(repository, "module_0.py:31", replace=1, policy=Always())
    prompt = "".join(completer.loaded.tokenizer.decode(row) for (row,) in segments[:2])
    assert lines[29] in prompt
    assert "secret_of_the_target" not in prompt


def test_a_repository_of_one_file_is_completed_without_context(
    completer: SelectiveCompleter, tmp_path: Path, python_sources: list[str]
) -> None:
    (tmp_path / "only.py").write_text(python_sources[0], encoding="utf-8")
    completion = completer.complete_at(tmp_path, "only.py:20", policy=Always())
    assert completion.note == NOTHING_TO_SHOW
    assert completion.chunks == ()


def test_an_empty_file_in_an_empty_repository_is_completed(completer: SelectiveCompleter, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("")
    completion = completer.complete_at(tmp_path, "new.py:1", policy=Always())
    assert completion.note == NOTHING_TO_SHOW
