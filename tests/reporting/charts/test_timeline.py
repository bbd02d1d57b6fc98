"""CPU share of threads over time, read from the figures."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.reporting.charts.figures import samples
from waitbench.model.run import ThreadSample
from waitbench.reporting.charts import timeline
from waitbench.reporting.drawing import looks


def draw(labels: list[str], found: list[ThreadSample]) -> Figure:
    return timeline.draw("waiting", "cluster", labels, found, looks(labels))


def row_names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_the_timeline_has_a_row_for_each_thread_that_is_not_quiet() -> None:
    found = [*samples("a", {"python 0": 0.9, "poll 1": 0.01}), *samples("b", {"python 0": 0.1})]
    figure = draw(["a", "b", "never sampled"], found)
    first, second = figure.axes
    assert titles(figure) == ["a (quiet threads not shown: 1)", "b"]
    assert row_names(first) == row_names(second) == ["worker 0 · python 0"]
    assert first.get_xlim() == second.get_xlim() == (0, 2)
    (drawn,) = first.collections
    (path,) = drawn.get_paths()
    assert np.asarray(path.vertices)[:, 1].max() == pytest.approx(0.92 * 0.9)
    assert figure.get_suptitle() == "waiting: share of one CPU, by thread"
    assert "cluster" in second.get_xlabel()


def test_revisions_stand_below_one_another() -> None:
    labels = [f"r{n}" for n in range(7)]
    found = [sample for label in labels for sample in samples(label, {"python 0": 0.5})]
    figure = draw(labels, found)
    figure.draw_without_rendering()
    assert titles(figure) == labels
    places = [axes.get_window_extent() for axes in figure.axes]
    assert len({place.x0 for place in places}) == 1
    assert [place.y0 for place in places] == sorted((place.y0 for place in places), reverse=True)


def test_the_timeline_keeps_the_busiest_threads_in_order() -> None:
    threads = {f"python {n:02}": 0.03 + n / 100 for n in range(30)}
    figure = draw(["a"], samples("a", threads))
    assert row_names(figure.axes[0]) == [f"worker 0 · python {n:02}" for n in range(6, 30)]
    assert titles(figure) == ["a (quiet threads not shown: 6)"]


def test_a_timeline_of_quiet_threads_only_is_an_empty_panel() -> None:
    figure = draw(["a"], samples("a", {"python 0": 0.0}))
    assert row_names(figure.axes[0]) == []
    assert titles(figure) == ["a (quiet threads not shown: 1)"]


def test_labels_that_do_not_fit_over_a_panel_are_shortened_and_differ() -> None:
    labels = [f"{number}".center(200, "x") for number in range(3)]
    found = [sample for label in labels for sample in samples(label, {"python 0": 0.5})]
    shown = titles(draw(labels, found))
    assert [len(title) <= 60 for title in shown] == [True] * 3
    assert len(set(shown)) == 3
