"""What all charts share."""

import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text

from tests.reporting.charts.figures import compared, steady_runs
from waitbench.analysis import results
from waitbench.reporting.charts import forest, planes
from waitbench.reporting.drawing import COLOURS
from waitbench.reporting.forest import COLUMNS, axis_of, tabulate

PAGE_PIXELS = 830
"""How wide GitHub shows a picture of a README."""
LEAST_PIXELS = 9


def drawn(labels: list[str]) -> list[Figure]:
    """A chart of each kind, of revisions with these labels beside a baseline."""
    runs = {label: steady_runs(2, factor=1 + n) for n, label in enumerate(["base", *labels])}
    comparison = compared(runs)
    found = results.of_comparisons([comparison])
    plane = planes.tradeoff("", found, ["base", *labels])
    assert plane is not None
    return [forest.draw(tabulate("", found, COLUMNS, axis=axis_of(found))), plane]


@pytest.mark.parametrize(
    "labels",
    [
        ["_hidden", "$maths$"],
        [f"a-revision-with-a-label-of-forty-chars-{n}" for n in range(13)],
        [f"_{number:02}".ljust(200, "x") for number in range(10)],
    ],
)
def test_every_revision_is_named_and_every_text_can_be_read_where_a_readme_shows_it(
    labels: list[str],
) -> None:
    for figure in drawn(labels):
        figure.draw_without_rendering()
        shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        texts = {text.get_text().replace("\u200b", "") for text in shown}
        named = {text for text in texts if any(label[:6] in text for label in labels)}
        assert len(named) >= len(labels)
        for text in shown:
            pixels = float(text.get_fontsize()) * PAGE_PIXELS / (72 * figure.get_figwidth())
            assert pixels >= LEAST_PIXELS, text.get_text()


def test_what_shares_a_colour_has_a_marker_of_its_own() -> None:
    *_, plane = drawn([f"v{number}" for number in range(3 * len(COLOURS))])
    (axes,) = plane.axes
    dots = [bars.lines[0] for bars in axes.containers if isinstance(bars, ErrorbarContainer)]
    looks = [(dot.get_color(), dot.get_marker()) for dot in dots if dot]
    assert len({colour for colour, _ in looks}) == len(COLOURS)
    assert len(set(looks)) == len(looks)
