"""Python loops as machine code, and the arrays that they run over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Starts = NDArray[np.int64]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Hits = list[tuple[int, float]]
"""Positions of texts and their scores, best first, ties by position."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """``function`` as machine code, which is kept on disk where there is a place to write it.

    numba compiles anew what stands in a changed file, but not what calls it from another one: functions that call each
    other stand in one file. Division is numpy's, whose loops become vector instructions: Python's looks for zeros.
    """
    try:
        return cast(Kernel, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # numba finds none: every process compiles anew
        return cast(Kernel, numba.njit(error_model="numpy")(function))
