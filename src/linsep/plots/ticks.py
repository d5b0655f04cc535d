"""Ticks at round numbers, as many as have room for their labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import Formatter, FuncFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

from linsep.engine.arrays import Array
from linsep.plots import style

LONG, SHORT = 1e7, 1e-3
"""Numbers have exponents if the largest of an axis is at least `LONG`, or below `SHORT`."""
LETTER, LINE, GAP = 0.62, 1.2, 7.0
"""The width and height of a letter as a share of the font's size, and the points between two labels."""
STEPS = [1, 2, 2.5, 5, 10]
"""The first digits of the distance between two ticks."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def numbers(axis: Axis, most: int = 6, *, integer: bool = False) -> None:
    """Mark at most about `most` round numbers on an axis, linear or logarithmic, and write them with commas."""
    _mark(axis, most, integer, Numbers())


def percents(axis: Axis, most: int = 6) -> None:
    """Mark shares at round numbers, and write them as percentages: 5 %."""
    _mark(axis, most, False, percent_format())


def percent_format() -> Formatter:
    """Return a format of shares: 5 %."""
    return FuncFormatter(lambda value, _: f"{100 * value:.4g} %".replace("-", "−"))


def grid(ax: Axes, axis: Any = "y") -> None:
    """Draw faint lines at the ticks of an axis, behind the data."""
    ax.grid(axis=axis, color=style.ink(), alpha=0.12, linewidth=0.8)
    ax.set_axisbelow(True)


def _mark(axis: Axis, most: int, integer: bool, formatter: Formatter) -> None:
    axis.set_major_formatter(formatter)
    linear = [MaxNLocator(count, steps=STEPS, integer=integer) for count in range(most, 0, -1)]
    if axis.get_scale() == "log":
        axis.set_minor_formatter(NullFormatter())
        fine = LogLocator(subs=(1, 2, 5), numticks=99)
        axis.set_major_locator(Roomy(linear, [fine, *(LogLocator(numticks=count) for count in range(9, 1, -1))]))
    else:
        axis.set_major_locator(Roomy(linear))


class Numbers(Formatter):
    """Numbers with commas, and with exponents where they would be long.

    >>> Numbers().format_ticks([0, 2500, -5000]), Numbers().format_ticks([0, 2.5e9, 5e9])
    (['0', '2,500', '−5,000'], ['0', '2.5·10⁹', '5·10⁹'])
    """

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return one number as text."""
        return self.format_ticks([value])[0]

    def format_ticks(self, values: Any) -> list[str]:
        """Return numbers as texts."""
        largest = max(map(abs, values), default=0.0)
        exponents = largest >= LONG or 0 < largest < SHORT
        return [_write(float(value), exponents) for value in values]


def _write(value: float, exponents: bool) -> str:
    if not exponents or value == 0 or SHORT <= abs(value) < 1e5:
        return f"{value:,.10g}".replace("-", "−")
    digits, _, exponent = f"{value:.9e}".partition("e")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    shown = f"{float(digits):g}".replace("-", "−")
    return {"1": power, "−1": f"−{power}"}.get(shown, f"{shown}·{power}")


class Roomy(Locator):
    """The first of some locators, ordered from many ticks to few, whose labels do not touch.

    Parameters
    ----------
    linear : sequence of Locator
        For a linear axis, and for a logarithmic one whose ends differ by a factor below 3.
    decades : sequence of Locator
        For a logarithmic axis. The first is omitted if the ends differ by a factor of 300 or more.
    """

    def __init__(self, linear: Sequence[Locator], decades: Sequence[Locator] = ()) -> None:
        self._linear, self._decades = linear, decades

    def set_axis(self, axis: Any) -> None:
        """Bind the axis to all locators."""
        super().set_axis(axis)
        for locator in (*self._linear, *self._decades):
            locator.set_axis(axis)

    def __call__(self) -> Any:
        """Return the places of the ticks."""
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the places of the ticks between two ends."""
        low, high = sorted((vmin, vmax))
        for locator in self._fitting(high / low if self._decades and low > 0 else 1.0):
            ticks = np.asarray(locator.tick_values(low, high))
            ticks = ticks[(ticks >= low) & (ticks <= high)]
            if self._fit(ticks, low, high):
                break
        return ticks

    def _fitting(self, ratio: float) -> Sequence[Locator]:
        """Return the locators for ends that differ by a factor."""
        if ratio < 3:
            return self._linear
        return self._decades if ratio < 300 else self._decades[1:]

    def view_limits(self, vmin: float, vmax: float) -> tuple[float, float]:
        """Return the limits that matplotlib chooses for data between two ends."""
        return (self._decades or self._linear)[-1].view_limits(vmin, vmax)

    def nonsingular(self, v0: float, v1: float) -> tuple[float, float]:
        """Return two ends that differ, and are above 0 on a logarithmic axis."""
        return (self._decades or self._linear)[-1].nonsingular(v0, v1)

    def _fit(self, ticks: Array, low: float, high: float) -> bool:
        """Return whether the labels of ticks leave room for each other."""
        axis: Any = self.axis
        box, upright = axis.axes.get_window_extent(), axis.axis_name == "y"
        points = (box.height if upright else box.width) * 72 / axis.axes.figure.dpi
        begin, end = axis.get_transform().transform(np.array([low, high], np.float64))
        if not points or begin == end:
            return True
        places = points * (axis.get_transform().transform(ticks) - begin) / (end - begin)
        size = FontProperties(size=rcParams["xtick.labelsize"]).get_size_in_points()
        texts = axis.get_major_formatter().format_ticks(ticks)
        rooms = np.array([LINE * size if upright else LETTER * size * len(text) + GAP for text in texts])
        return bool((np.diff(places) >= (rooms[1:] + rooms[:-1]) / 2).all())
