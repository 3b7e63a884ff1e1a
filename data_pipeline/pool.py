"""Shards in this process or in several, with one progress bar over what they do inside."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import Queue
from typing import TypeVar

from tqdm import tqdm

from repoformer.errors import UserError

from .stage import Advance

Task = TypeVar("Task")

_progress: Queue[int] | None = None


def run_all(work: Callable[[Task, Advance], None], tasks: Sequence[Task], bar: tqdm, workers: int) -> None:
    """Do all tasks. Which process does which, and in what order, must not matter to them."""
    if workers == 1 or len(tasks) < 2:
        for task in tasks:
            work(task, bar.update)
        return
    # Forking would copy the state of threads that tokenizers and torch have started.
    context = multiprocessing.get_context("spawn")
    progress = context.Queue()
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, _begin, (progress,))
    try:
        _watch([pool.submit(_work, work, task) for task in tasks], progress, bar)
    except BrokenProcessPool:
        raise UserError(
            "a worker process died, most likely out of memory; use fewer workers or more shards and run again, "
            "finished shards are kept"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _watch(futures: Sequence[Future[None]], progress: Queue[int], bar: tqdm) -> None:
    running = set(futures)
    while running:
        finished, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
        while not progress.empty():
            bar.update(progress.get())
        for future in finished:
            future.result()


def _begin(progress: Queue[int]) -> None:
    global _progress
    _progress = progress
    # One thread per process: with more, the processes would fight for the cores.
    os.environ["OMP_NUM_THREADS"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A run that is killed must not leave workers behind that write into the next one's files."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(work: Callable[[Task, Advance], None], task: Task) -> None:
    assert _progress is not None
    work(task, _progress.put)
