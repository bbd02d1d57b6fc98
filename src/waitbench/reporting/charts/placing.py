"""Names beside points, none on another."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from waitbench.reporting.charts import style
from waitbench.system.streams import printable

Point = tuple[float, float]

_RINGS = (7, 14, 24, 38, 56, 80, 110)
"""Points from the mark to its name, tried one after the other."""
_SIDES = ((1, 0), (0, 1), (0, -1), (-1, 0), (0.7, 0.7), (0.7, -0.7), (-0.7, 0.7), (-0.7, -0.7))
"""Where a name stands: right, above, below, left; then between these."""
_MARK = 5
"""Points around the middle of a mark that are its own."""
_NEAR = 14
"""Points: what is further away has a line to its mark."""
_LINE = {"arrowstyle": "-", "color": style.GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}


def name_points(
    figure: Figure,
    axes: Axes,
    named: Sequence[tuple[str, Point, str]],
    others: Sequence[Point],
    lines: Sequence[tuple[Point, Point]] = (),
) -> None:
    """Writes each text beside its point, in its colour, where it covers nothing.

    ``named`` has text, place and colour; ``others`` are places that must stay free too, and so are
    ``lines``, level or upright. What finds no free place stands where it covers least.
    """
    # Places in pixels are known only once the axes have theirs.
    figure.draw_without_rendering()
    frame = axes.get_window_extent()
    pixels = figure.dpi / 72
    taken = [_mark(axes, point, pixels) for point in (*others, *(at for _, at, _ in named))]
    taken += [Bbox(axes.transData.transform(line)).padded(pixels) for line in lines]
    names: list[Bbox] = []
    for text, point, colour in named:
        shown = printable(text)
        width, height = _size(axes, shown)
        x, y = axes.transData.transform(point)
        best = None
        for ring, (right, up) in ((ring, side) for ring in _RINGS for side in _SIDES):
            box = Bbox.from_bounds(
                x + right * ring * pixels - width * (1 - right) / 2,
                y + up * ring * pixels - height * (1 - up) / 2,
                width,
                height,
            )
            # Two names on one another can neither be read; one on a line can.
            outside = width * height - _covered(box, [frame])
            cost = _covered(box, taken) + 10 * (_covered(box, names) + outside)
            if best is None or cost < best[0]:
                best = cost, box, ring
            if cost < 1:
                break
        assert best is not None, "there are places"
        _, box, ring = best
        axes.annotate(
            shown, point, xytext=((box.x0 - x) / pixels, (box.y0 - y) / pixels),
            textcoords="offset points", ha="left", va="bottom", fontsize=style.SMALL, color=colour,
            annotation_clip=False, arrowprops=_LINE if ring > _NEAR else None,
        )  # fmt: skip
        names.append(box)


def _size(axes: Axes, text: str) -> tuple[float, float]:
    """Pixels across, and up."""
    drawn = axes.text(0, 0, text, fontsize=style.SMALL)
    box = drawn.get_window_extent()
    drawn.remove()
    return box.width, box.height


def _mark(axes: Axes, point: Point, pixels: float) -> Bbox:
    x, y = axes.transData.transform(point)
    half = _MARK * pixels
    return Bbox.from_bounds(x - half, y - half, 2 * half, 2 * half)


def _covered(box: Bbox, others: Sequence[Bbox]) -> float:
    """Square pixels that a box shares with others."""
    shared = (Bbox.intersection(box, other) for other in others)
    return sum(one.width * one.height for one in shared if one is not None)
