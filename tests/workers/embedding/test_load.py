"""What load.py makes of a load."""

import pytest
from load import figures
from traffic import Load

from waitbench.engines.worker import file as worker_file
from waitbench.system.places import WORKERS


def a_load() -> Load:
    load = Load(2.0)
    for late in (False, False, False, True):
        load.count_answer(0.5, 100, is_late=late)
    load.count_failure("503", "busy")
    return load


def test_the_rate_is_of_answers_in_time_and_failures_lower_the_success() -> None:
    found = figures(a_load(), 2)
    assert set(found) == set(worker_file.read(WORKERS / "embedding" / "load.toml").metrics)
    assert found["rate"] == 1.5
    assert found["request"] == [0.5] * 4
    assert found["size"] == 100
    assert found["success"] == 80
    assert found["requests-per-call"] == 2


def test_wrong_answers_and_no_answers_are_no_measurement() -> None:
    load = a_load()
    load.checked = load.wrong = 1
    with pytest.raises(SystemExit, match="1 of 1 answers were wrong; failed: 1 × 503: busy"):
        figures(load, 2)
    with pytest.raises(SystemExit, match="0 of 0"):
        figures(Load(2.0), 0)
