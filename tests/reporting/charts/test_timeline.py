"""CPU share of threads over time, read from the figures."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from tests.reporting.charts.figures import samples
from waitbench.reporting.charts import timeline


def row_names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_the_timeline_has_a_row_for_each_thread_that_is_not_quiet() -> None:
    found = [*samples("a", {"python 0": 0.9, "poll 1": 0.01}), *samples("b", {"python 0": 0.1})]
    figure = timeline.draw("waiting", "cluster", ["a", "b", "never sampled"], found)
    first, second = figure.axes
    assert first.get_title() == "a (quiet threads not shown: 1)"
    assert second.get_title() == "b"
    assert row_names(first) == row_names(second) == ["worker 0 · python 0"]
    assert first.get_xlim() == (0, 2)
    (drawn,) = first.collections
    (path,) = drawn.get_paths()
    assert np.asarray(path.vertices)[:, 1].max() == pytest.approx(0.92 * 0.9)
    assert figure.get_suptitle() == "waiting · cluster · share of one CPU, by thread"


def test_the_timeline_keeps_the_busiest_threads_in_order() -> None:
    threads = {f"python {n:02}": 0.03 + n / 100 for n in range(30)}
    (axes,) = timeline.draw("waiting", "single", ["a"], samples("a", threads)).axes
    assert row_names(axes) == [f"worker 0 · python {n:02}" for n in range(6, 30)]
    assert axes.get_title() == "a (quiet threads not shown: 6)"


def test_a_timeline_of_quiet_threads_only_is_an_empty_panel() -> None:
    (axes,) = timeline.draw("waiting", "single", ["a"], samples("a", {"python 0": 0.0})).axes
    assert row_names(axes) == []
    assert axes.get_title() == "a (quiet threads not shown: 1)"


def test_many_sampled_revisions_stand_in_several_lines() -> None:
    labels = [f"r{n}" for n in range(7)]
    found = [sample for label in labels for sample in samples(label, {"python 0": 0.5})]
    figure = timeline.draw("waiting", "single", labels, found)
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == labels
    assert figure.get_figwidth() < 20


def test_labels_that_do_not_fit_over_a_panel_are_shortened_and_differ() -> None:
    labels = [f"{number}".center(200, "x") for number in range(3)]
    found = [sample for label in labels for sample in samples(label, {"python 0": 0.5})]
    titles = [a.get_title() for a in timeline.draw("waiting", "single", labels, found).axes]
    assert [len(title) <= 40 for title in titles] == [True] * 3
    assert len(set(titles)) == 3
