"""What figures and frames show, as data: for clients that draw charts and tables themselves.

The types and fields of charts are those that E2B's clients read. Unless a client has asked for them with
`describe`, outputs are without them.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, Final

__all__ = ["CHART", "FRAME", "describe", "descriptions"]

#: The types of a chart and of a frame in a mime bundle.
CHART: Final = "application/vnd.planaria.chart+json"
FRAME: Final = "application/vnd.planaria.frame+json"
#: Numbers of one chart or frame; where there are more, nothing is sent, and standard error says so.
_MOST: Final = 200_000
_UNIT: Final = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")

_wanted: Final = [False]


def describe() -> None:
    """From now on, have figures and frames shown with their data."""
    _wanted[0] = True


def descriptions(value: Any) -> dict[str, Any]:
    """The data of a figure or frame by its type; none for other values, and unless they are wanted."""
    if not _wanted[0]:
        return {}
    pandas, matplotlib = sys.modules.get("pandas"), sys.modules.get("matplotlib.figure")
    make: Callable[[Any], Any]
    if pandas is not None and issubclass(type(value), pandas.DataFrame):
        kind, size, make = FRAME, value.size, _frame
    elif matplotlib is not None and issubclass(type(value), matplotlib.Figure):
        kind, size, make = CHART, sum(map(_size, value.axes)), _chart
    else:
        return {}
    if size > _MOST:
        sys.stderr.write(f"display: {kind} left out, it has more than {_MOST} values\n")
        return {}
    return {kind: make(value)}


def _frame(frame: Any) -> dict[str, list[Any]]:
    columns = enumerate(frame.columns)
    return {str(name): [_plain(one) for one in frame.iloc[:, place].tolist()] for place, name in columns}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    item = getattr(value, "item", None)
    if callable(item):
        value = item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    as_text = getattr(value, "isoformat", None)
    return as_text() if callable(as_text) else str(value)


# -- charts --------------------------------------------------------------------------------------------------


def _size(axes: Any) -> int:
    lines = sum(len(line.get_xdata()) for line in axes.lines)
    return int(lines + len(axes.patches) + sum(len(one.get_offsets()) for one in axes.collections))


def _chart(figure: Any) -> dict[str, Any]:
    drawn = [axes for axes in figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"]
    charts = [_of_axes(axes) for axes in drawn]
    if len(charts) == 1:
        return charts[0]
    title = getattr(figure, "_suptitle", None)
    return {
        "type": "superchart",
        "title": None if title is None else title.get_text() or None,
        "elements": charts,
    }


def _of_axes(axes: Any) -> dict[str, Any]:
    from matplotlib.collections import PathCollection
    from matplotlib.container import BarContainer
    from matplotlib.patches import Wedge

    wedges = [one for one in axes.patches if isinstance(one, Wedge)]
    if wedges:
        return {"type": "pie", "title": _title(axes), "elements": _slices(axes, wedges)}
    boxes = _boxes(axes)
    if boxes:
        return {"type": "box_and_whisker", **_labels(axes), "elements": boxes}
    bars = [one for one in axes.containers if isinstance(one, BarContainer)]
    if bars:
        return {"type": "bar", **_labels(axes), "elements": _bars(axes, bars)}
    dots = [one for one in axes.collections if isinstance(one, PathCollection)]
    if dots:
        return _points(axes, "scatter", [(one, one.get_offsets()) for one in dots])
    if axes.lines:
        return _points(axes, "line", [(one, one.get_xydata()) for one in axes.lines])
    return {"type": "unknown", "title": _title(axes), "elements": []}


def _title(axes: Any) -> str | None:
    return next((text for place in ("center", "left", "right") if (text := axes.get_title(place))), None)


def _labels(axes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"title": _title(axes)}
    for name, label in (("x", axes.get_xlabel()), ("y", axes.get_ylabel())):
        unit = _UNIT.search(label)
        found[f"{name}_label"] = label or None
        found[f"{name}_unit"] = unit[1] if unit else None
    return found


def _named(artist: Any, usual: str) -> str:
    label = str(artist.get_label() or "")
    return usual if label.startswith("_") or not label else label


def _slices(axes: Any, wedges: Sequence[Any]) -> list[dict[str, Any]]:
    # Labels are written first, then percentages, if there are any.
    texts = [one.get_text() for one in axes.texts[: len(wedges)]]
    texts += [""] * (len(wedges) - len(texts))
    return [
        {
            "label": _named(wedge, text),
            "angle": float(wedge.theta2 - wedge.theta1),
            "radius": float(wedge.r),
        }
        for wedge, text in zip(wedges, texts, strict=True)
    ]


def _bars(axes: Any, containers: Sequence[Any]) -> list[dict[str, Any]]:
    found = []
    for number, container in enumerate(containers):
        group = _named(container, f"_container{number}")
        is_horizontal = getattr(container, "orientation", "vertical") == "horizontal"
        axis = axes.yaxis if is_horizontal else axes.xaxis
        ticks = {round(float(at), 9): text for at, text in _ticks(axis)}
        for bar in container.patches:
            if is_horizontal:
                at, value = bar.get_y() + bar.get_height() / 2, bar.get_width()
            else:
                at, value = bar.get_x() + bar.get_width() / 2, bar.get_height()
            label = ticks.get(round(float(at), 9)) or str(_place(axis, at))
            found.append({"label": label, "group": group, "value": _plain(float(value))})
    return found


def _boxes(axes: Any) -> list[dict[str, Any]]:
    """The boxes of a box plot, which are recognised by their lines."""
    for axis, across, along in ((axes.xaxis, 0, 1), (axes.yaxis, 1, 0)):
        lines = [one.get_xydata().tolist() for one in axes.lines]
        outlines = [one for one in lines if _is_box(one)]
        outlines += [
            points
            for one in axes.patches
            if type(one).__name__ == "PathPatch" and _is_box(points := one.get_path().vertices.tolist()[:5])
        ]
        found = [
            box
            for outline in outlines
            if (box := _box(axis, [(one[across], one[along]) for one in outline], lines, across, along))
        ]
        if found:
            return found
    return []


def _is_box(points: Sequence[Sequence[float]]) -> bool:
    xs, ys = {one[0] for one in points}, {one[1] for one in points}
    corners = {tuple(one) for one in points}
    return (
        len(points) == 5 and points[0] == points[4] and corners == set(product(xs, ys)) and len(corners) == 4
    )


def _box(
    axis: Any, outline: Sequence[Any], lines: Iterable[Any], across: int, along: int
) -> dict[str, Any] | None:
    sides, ends = sorted({one[0] for one in outline}), sorted({one[1] for one in outline})
    middle = sum(sides) / 2
    whiskers: list[float] = []
    median: float | None = None
    outliers: list[float] = []
    for line in lines:
        places, values = [one[across] for one in line], [one[along] for one in line]
        if len(line) == 2 and values[0] == values[1] and sorted(places) == sides:
            median = values[0]
        elif places and all(math.isclose(one, middle) for one in places):
            if len(line) == 2 and values[0] in ends and not ends[0] < values[1] < ends[1]:
                whiskers.append(values[1])
            else:
                outliers += values
    if median is None or len(whiskers) != 2:
        return None
    ticks = {round(float(at), 9): text for at, text in _ticks(axis)}
    return {
        "label": ticks.get(round(middle, 9)) or str(_place(axis, middle)),
        "min": min(whiskers),
        "first_quartile": ends[0],
        "median": median,
        "third_quartile": ends[1],
        "max": max(whiskers),
        "outliers": outliers,
    }


def _points(axes: Any, kind: str, artists: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, **_labels(axes)}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks = list(_ticks(axis))
        found[f"{name}_ticks"] = [_place(axis, at) for at, _ in ticks]
        found[f"{name}_tick_labels"] = [text for _, text in ticks]
        found[f"{name}_scale"] = _scale(axis)
    found["elements"] = [
        {
            "label": _named(artist, f"_series{number}"),
            "points": [[_place(axes.xaxis, x), _place(axes.yaxis, y)] for x, y in points.tolist()],
        }
        for number, (artist, points) in enumerate(artists)
    ]
    return found


def _ticks(axis: Any) -> list[tuple[float, str]]:
    """The ticks that are seen, with their texts."""
    low, high = sorted(axis.get_view_interval())
    found = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
    return [(at, label.get_text()) for at, label in found if low <= at <= high]


def _scale(axis: Any) -> str:
    converter = type(axis.get_converter()).__name__
    if "Date" in converter or "Time" in converter or "Period" in converter:
        return "datetime"
    return "categorical" if "Category" in converter else str(axis.get_scale())


def _place(axis: Any, value: float) -> Any:
    """What stands at a place of an axis: a number, a time, a category."""
    scale = _scale(axis)
    if scale == "categorical":
        names = {at: name for name, at in axis.units._mapping.items()}
        return names.get(round(value), _plain(float(value)))
    if scale == "datetime" and math.isfinite(value):
        from matplotlib import dates

        try:
            time: Any = dates.num2date(value)  # type: ignore[no-untyped-call,unused-ignore]
            return time.replace(tzinfo=None).isoformat()
        except (ValueError, OverflowError):
            pass
    return _plain(float(value))
