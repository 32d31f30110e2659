"""Charts as SVG text, for a page without scripts or anything from elsewhere. Colours come from the page's style."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 440, 200  # of the drawing; it scales to its place
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 22
MOST = 300  # points of a line; more are averaged
COLOURS = 8  # classes c0 ... c7 in the page's style

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Series:
    """One line, or one layer of a stack."""

    label: str
    points: Points
    colour: int = 0


@dataclass(frozen=True)
class _PlotArea:
    """Where values come to lie in the drawing."""

    x0: float
    x1: float
    y0: float
    y1: float

    def x(self, step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (step - self.x0) / ((self.x1 - self.x0) or 1)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - self.y0) / ((self.y1 - self.y0) or 1)


def line_chart(
    title: str,
    series: Sequence[Series],
    band: tuple[float | None, float | None] | None = None,
    over: str = "step",
) -> Markup:
    """Draw curves over steps, or what ``over`` names; ``band`` is what is healthy, and shaded where it is in sight."""
    drawn = [Series(line.label, _thin(_finite(line.points)), line.colour) for line in series]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return Markup("")
    steps = [step for line in drawn for step, _ in line.points]
    values = [value for line in drawn for _, value in line.points]
    frame = _PlotArea(min(steps), max(steps), *_range(min(values), max(values)))
    parts = [_band(frame, band), _axes(frame)]
    for line in drawn:
        path = " ".join(f"{frame.x(step):.1f},{frame.y(value):.1f}" for step, value in line.points)
        parts.append(
            Markup('<polyline class="line c{}" points="{}"><title>{}</title></polyline>').format(
                line.colour % COLOURS, path, line.label
            )
        )
        step, value = line.points[-1]
        parts.append(
            Markup('<circle class="dot c{}" cx="{:.1f}" cy="{:.1f}" r="2.5"><title>{}</title></circle>').format(
                line.colour % COLOURS, frame.x(step), frame.y(value), f"{line.label}: {number(value)} at {over} {step}"
            )
        )
    return _svg(title, parts)


def stacked_chart(title: str, series: Sequence[Series]) -> Markup:
    """Draw layers over one another, one column a step or a group of steps."""
    layers = [Series(layer.label, _thin(_finite(layer.points), 60), layer.colour) for layer in series]
    layers = [layer for layer in layers if layer.points]
    if not layers:
        return Markup("")
    steps = sorted({step for layer in layers for step, _ in layer.points})
    heights = [dict(layer.points) for layer in layers]
    top = max(sum(layer.get(step, 0.0) for layer in heights) for step in steps)
    frame = _PlotArea(steps[0], steps[-1], 0.0, top * 1.05 or 1.0)
    width = max(1.0, (WIDTH - LEFT - RIGHT) / (len(steps) + 1))
    parts = [_axes(frame)]
    floor = dict.fromkeys(steps, 0.0)
    for layer, height_at in zip(layers, heights, strict=True):
        for step, value in height_at.items():
            low, high = frame.y(floor[step]), frame.y(floor[step] + value)
            floor[step] += value
            parts.append(
                Markup(
                    '<rect class="bar c{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
                    "<title>{}</title></rect>"
                ).format(
                    layer.colour % COLOURS,
                    min(max(frame.x(step) - width / 2, LEFT), WIDTH - RIGHT - width),
                    high,
                    width,
                    low - high,
                    f"{layer.label}: {number(value)} at step {step}",
                )
            )
    return _svg(title, parts)


def number(value: float) -> str:
    """Return a number as people read it: three digits that matter."""
    if not math.isfinite(value):
        return "not finite"
    if value and not 0.001 <= abs(value) < 100_000:
        return f"{value:.2e}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _finite(points: Points) -> list[tuple[int, float]]:
    return [(step, value) for step, value in points if math.isfinite(value)]


def _thin(points: Points, most: int = MOST) -> list[tuple[int, float]]:
    """Return at most ``most`` points: the mean of each group, at its last step."""
    size = -(-len(points) // most) or 1
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [(group[-1][0], sum(value for _, value in group) / len(group)) for group in groups]


def _range(low: float, high: float) -> tuple[float, float]:
    """Return a range around the values, so that a flat line is in the middle."""
    space = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - space, high + space


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers in the range."""
    raw = (high - low) / 4
    if raw <= 0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(raw))
    size = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= raw)
    first = math.ceil(low / size)
    return [i * size for i in range(first, math.floor(high / size) + 1)]


def _axes(frame: _PlotArea) -> Markup:
    parts = []
    for value in _ticks(frame.y0, frame.y1):
        y = frame.y(value)
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(LEFT, WIDTH - RIGHT, y, y)
        )
        parts.append(
            Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                LEFT - 5, y + 3.5, number(value)
            )
        )
    for step in sorted({frame.x0, round((frame.x0 + frame.x1) / 2), frame.x1}):
        anchor = "end" if step == frame.x1 and frame.x1 > frame.x0 else "middle"
        parts.append(
            Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                frame.x(step), HEIGHT - 7, anchor, int(step)
            )
        )
    return Markup("").join(parts)


def _band(frame: _PlotArea, band: tuple[float | None, float | None] | None) -> Markup:
    if band is None:
        return Markup("")
    low = frame.y0 if band[0] is None else min(max(band[0], frame.y0), frame.y1)
    high = frame.y1 if band[1] is None else min(max(band[1], frame.y0), frame.y1)
    if high <= low:
        return Markup("")
    return Markup(
        '<rect class="healthy" x="{}" y="{:.1f}" width="{}" height="{:.1f}"><title>healthy</title></rect>'
    ).format(LEFT, frame.y(high), WIDTH - LEFT - RIGHT, frame.y(low) - frame.y(high))


def _svg(title: str, parts: Sequence[Markup]) -> Markup:
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, title)
    return head + Markup("").join(parts) + Markup("</svg>")


def legend(series: Sequence[Series]) -> Markup:
    """Return the names of the lines in their colours."""
    return Markup(" ").join(
        Markup('<span class="key"><i class="c{}"></i>{}</span>').format(line.colour % COLOURS, escape(line.label))
        for line in series
    )
