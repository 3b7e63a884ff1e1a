"""The frame of a plot: ranges, round tick values, and where data stand on the drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from repoformer.report.page import text

WIDTH, HEIGHT = 440, 280
LEFT, _RIGHT, _TOP, _BOTTOM = 60, 12, 10, 42
_CHARACTER = 7
"""Width of a figure in a label."""

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axes:
    """Two linear axes with their labels."""

    x: Range
    y: Range
    x_label: str
    y_label: str

    def across(self, value: float) -> float:
        """Where ``value`` of the horizontal axis stands on the drawing."""
        return round(LEFT + (value - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - _RIGHT), 2)

    def up(self, value: float) -> float:
        """Where ``value`` of the vertical axis stands on the drawing, which counts from the top."""
        return round(HEIGHT - _BOTTOM - (value - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - _TOP - _BOTTOM), 2)

    def draw(self) -> str:
        """Grid, tick values and labels."""
        left, right, bottom, top = (
            self.across(self.x[0]),
            self.across(self.x[1]),
            self.up(self.y[0]),
            self.up(self.y[1]),
        )
        parts = [f'<path class="axis" d="M{left} {bottom}H{right}"/>']
        for value, label in ticks(self.y):
            height = self.up(value)
            parts.append(f'<path class="grid" d="M{left} {height}H{right}"/>')
            parts.append(f'<text x="{left - 7}" y="{height + 4}" text-anchor="end">{label}</text>')
        for value, label in self._ticks_across():
            place = self.across(value)
            parts.append(f'<path class="axis" d="M{place} {bottom}v4"/>')
            parts.append(f'<text x="{place}" y="{bottom + 17}" text-anchor="middle">{label}</text>')
        middle = (left + right) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{text(self.x_label)}</text>')
        middle = (top + bottom) / 2
        parts.append(
            f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{text(self.y_label)}</text>'
        )
        return "".join(parts)

    def _ticks_across(self) -> list[tuple[float, str]]:
        """As many values as fit beside each other."""
        found = ticks(self.x)
        for about in (4, 3, 2):
            if sum(len(label) + 2 for _, label in found) * _CHARACTER <= WIDTH - LEFT - _RIGHT:
                break
            found = ticks(self.x, about)
        return found


def fitting(values: Iterable[float]) -> Range:
    """A range around the values with a little air; one value alone stands in the middle of its range."""
    values = list(values)
    low, high = min(values), max(values)
    air = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - air, high + air


def ticks(limits: Range, about: int = 5) -> list[tuple[float, str]]:
    """Round values within the limits and how they read: steps of 1, 2 or 5 times a power of ten."""
    low, high = limits
    rough = (high - low) / about
    power = math.floor(math.log10(rough))
    step = min((1, 2, 5, 10), key=lambda factor: abs(math.log(factor * 10.0**power / rough))) * 10.0**power
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(n * step, f"{n * step:.{decimals}f}".replace("-", "\N{MINUS SIGN}")) for n in range(first, last + 1)]
