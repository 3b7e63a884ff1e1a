"""Shards in this process or in several, with one progress bar over what they do inside."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property
from multiprocessing.queues import Queue
from types import TracebackType
from typing import TypeVar

from tqdm import tqdm

from repoformer.errors import UserError

from .stage import Advance

Task = TypeVar("Task")

_progress: Queue[int] | None = None


class Workers:
    """So many processes, which start when they are first needed and stay for the stages to come.

    Which process does which task, and in what order, must not matter to the tasks.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise UserError(f"--workers {count}: at least one process is needed")
        self.count = count
        # Forking would copy the state of threads that tokenizers and torch have started.
        self._context = multiprocessing.get_context("spawn")

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if "_pool" in self.__dict__:
            self._pool.shutdown(cancel_futures=True)

    def do(self, work: Callable[[Task, Advance], None], tasks: Sequence[Task], bar: tqdm) -> None:
        """Do all the tasks; they tell ``bar`` how far they are."""
        if self.count == 1 or len(tasks) < 2:
            for task in tasks:
                work(task, bar.update)
            return
        try:
            self._watch([self._pool.submit(_work, work, task) for task in tasks], bar)
        except BrokenProcessPool:
            raise UserError(
                "a worker process died, most likely out of memory; use fewer workers or more shards and run again, "
                "finished shards are kept"
            ) from None

    @cached_property
    def _reports(self) -> Queue[int]:
        return self._context.Queue()

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.count, self._context, _begin, (self._reports,))

    def _watch(self, futures: Sequence[Future[None]], bar: tqdm) -> None:
        running = set(futures)
        while running:
            finished, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            while not self._reports.empty():
                bar.update(self._reports.get())
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
