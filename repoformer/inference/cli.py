"""``repoformer complete``: complete at one place of a repository, and say how the completion came about."""

from __future__ import annotations

import argparse
import json
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repoformer.inference.completer import Completion


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("place", metavar="PATH:LINE[:COL]", help="where to complete, 1-based; PATH is relative to DIR")
    parser.add_argument("--repo", required=True, metavar="DIR", help="the repository's folder")
    parser.add_argument("--model", default="pocket", metavar="M", help="a model's folder or hub name (default: pocket)")
    parser.add_argument(
        "--policy",
        choices=("threshold", "greedy", "never", "always"),
        help="when to retrieve (default: threshold, or always where the model takes no decisions)",
    )
    parser.add_argument(
        "--threshold", type=float, metavar="T", help="retrieve above this P(<cc>) (default: the model's)"
    )
    parser.add_argument("--replace", type=int, default=0, metavar="N", help="hold out N lines and write them anew")
    parser.add_argument("--lines", type=int, default=1, metavar="N", help="write up to N new lines (default: 1)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    parser.add_argument("--download", action="store_true", help="allow fetching the model from the hub")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Complete and print."""
    from repoformer.inference.completer import SelectiveCompleter, blank_at
    from repoformer.inference.policies import policy_named

    place, extent = (arguments.repo, arguments.place), {"replace": arguments.replace, "lines": arguments.lines}
    blank_at(*place, **extent)  # a place that is not there is told before a large model is read
    completer = SelectiveCompleter.load(arguments.model, device=arguments.device, download=arguments.download)
    name = arguments.policy or ("threshold" if arguments.threshold is not None else None)
    policy = policy_named(name, completer.loaded.settings, arguments.threshold) if name else None
    completion = completer.complete_at(*place, **extent, policy=policy)
    if arguments.json:
        print(json.dumps(_as_json(completion, arguments.model, arguments.place)))
    else:
        print(printable(_as_text(completion)))
    return 0


def printable(text: str) -> str:
    """The text with control characters spelled out, so that a model's output cannot steer a terminal."""
    return "".join(character if _is_harmless(character) else _escape(character) for character in text)


def _is_harmless(character: str) -> bool:
    # Cc: controls, Cf: formatting such as right-to-left overrides, Cs: lone surrogates, Zl and Zp: odd line ends.
    return character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _as_text(completion: Completion) -> str:
    seconds = completion.timings
    parts = [f"decide {seconds.decide:.3f} s", f"generate {seconds.generate:.3f} s"]
    if seconds.retrieve is not None:
        parts.insert(1, f"retrieve {seconds.retrieve:.3f} s")
    lines = [completion.text, "", f"decision: {_decision(completion)} (policy {_policy(completion)})"]
    lines += [f"note: {completion.note}"] if completion.note else []
    lines += ["retrieved:"] if completion.chunks else []
    for ranked in completion.chunks:
        chunk = ranked.chunk
        lines.append(f"  {chunk.path}:{chunk.start + 1}-{chunk.end}  similarity {ranked.score:.3f}")
    return "\n".join([*lines, f"time: {', '.join(parts)}"])


def _decision(completion: Completion) -> str:
    words = "retrieve" if completion.decision else "do not retrieve"
    return words if completion.p_retrieve is None else f"{words}, P(<cc>) = {completion.p_retrieve:.4f}"


def _policy(completion: Completion) -> str:
    if completion.threshold is None:
        return completion.policy
    return f"{completion.policy}: above {completion.threshold:.4f} for a {completion.kind} blank"


def _as_json(completion: Completion, model: str, place: str) -> dict[str, Any]:
    chunks = [
        {
            "path": ranked.chunk.path,
            "start_line": ranked.chunk.start + 1,
            "end_line": ranked.chunk.end,
            "similarity": ranked.score,
            "text": ranked.chunk.text,
        }
        for ranked in completion.chunks
    ]
    return {
        "place": place,
        "model": model,
        "policy": completion.policy,
        "kind": completion.kind,
        "threshold": completion.threshold,
        "text": completion.text,
        "retrieve": completion.decision,
        "p_retrieve": completion.p_retrieve,
        "chunks": chunks,
        "seconds": {
            "decide": completion.timings.decide,
            "retrieve": completion.timings.retrieve,
            "generate": completion.timings.generate,
        },
        "stopped_by": completion.stopped_by,
        "note": completion.note,
    }
