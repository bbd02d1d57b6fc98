"""A doctored wheel, and what trials with it come to."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import doctored, trials
from tests.records import make_record
from tests.running import run
from tests.standin import write_wheel_of
from waitbench.model.record import Record
from waitbench.system.places import ROOT

WHEEL = {
    "bytewax/inputs.py": "",
    "bytewax/outputs.py": """\
class StatelessSinkPartition(object):
    pass
""",
    "bytewax/run.py": """\
import threading
from bytewax import outputs

loaded = threading.active_count() - 1

class Sink(outputs.StatelessSinkPartition):
    def write_batch(self, items):
        print(*items)

print(loaded, threading.active_count() - 1)
Sink().write_batch("abc")
""",
}
WAITING = "/here/dynamic.py:get_flow(long_input=True, heavy_map=False)"
WORKING = "/here/dynamic.py:get_flow(long_input=True, heavy_map=True)"
RATES = {"dynamic": 1.0}


def printed(copy: Path, *words: str) -> list[str]:
    """The lines that a Python prints with the package: of a worker its threads before and after."""
    done = run(sys.executable, *words, env={"PYTHONPATH": str(copy)}, cwd=copy.parent)
    return done.stdout.splitlines()


def record(base: dict[str, float], new: dict[str, float]) -> Record:
    """Two rounds of a scenario that waits."""
    return make_record({"base": [base] * 2, "new": [new] * 2}, scenario="dynamic-long-input")


@pytest.mark.parametrize(
    ("kind", "arguments", "threads"),
    [
        ("wakeups", (WAITING,), "0 1"),
        ("wakeups", (WORKING,), "0 0"),
        ("thread", (WORKING,), "1 1"),
        ("silence", (WORKING,), "0 1"),
        ("late-busy", (WORKING,), "0 1"),
        ("child-reaped", (WORKING,), "0 0"),
        ("one-of-two", (WAITING,), "0 0"),
        ("one-of-two", (WAITING, "-i", "0"), "0 0"),
        ("one-of-two", (WAITING, "-i", "1"), "0 1"),
    ],
)
def test_a_load_begins_when_and_where_it_says_and_loses_no_item(
    tmp_path: Path, kind: str, arguments: Sequence[str], threads: str
) -> None:
    wheel = write_wheel_of(
        tmp_path, "bytewax", {**WHEEL, "bytewax/__init__.py": "print('first')\n"}
    )
    rates = RATES if kind == "wakeups" else None
    copy = doctored.doctor(wheel, tmp_path / "copy", kind, rates)
    assert printed(copy, "-m", "bytewax.run", *arguments) == ["first", threads, "a b c"]
    only_imports = "import bytewax.outputs, threading; print(threading.active_count())"
    assert printed(copy, "-c", only_imports) == ["first", "1"]


def test_a_wheel_whose_sinks_are_unknown_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel_of(
        tmp_path, "bytewax", {"bytewax/outputs.py": "class StatelessSink: pass\n"}
    )
    with pytest.raises(SystemExit, match="has no StatelessSinkPartition: name a wheel of"):
        doctored.doctor(wheel, tmp_path / "copy", "user", {})


def test_rates_are_of_one_process_in_its_steady_phase() -> None:
    # Two workers, each for 2 s at a tenth of a core.
    metrics = {"wakeups": 8000.0, "time_cpu_steady": 0.4, "cpu_share_steady": 0.2}
    records = [record(metrics, metrics)]
    assert doctored.rates_of(records, "wakeups", 2) == {"dynamic": pytest.approx(2000)}
    assert doctored.rates_of(records, "steady", 2) == {"dynamic": pytest.approx(0.1)}


def test_the_realised_rise_is_of_all_rounds_of_all_comparisons() -> None:
    records = [record({"wakeups": 100.0}, {"wakeups": new}) for new in (110.0, 121.0)]
    (rise,) = doctored.realised([one] for one in records)
    assert (rise.metric, rise.ratio.count) == ("wakeups", 4)
    assert rise.ratio.value == pytest.approx((1.10 * 1.21) ** 0.5)
    # Scenarios that work are no part of it.
    runs = [{"wakeups": 100.0}] * 2
    assert doctored.realised([[make_record({"base": runs, "new": runs})]]) == []


def test_a_trial_is_said_by_what_its_verdict_holds() -> None:
    verdict = ROOT / "tests" / "frozen" / "expected" / "gate" / "fail.json"
    trial = trials.Trial(wall_s=9.0, verdict=json.loads(verdict.read_text()), records=())
    (failed,) = trial.failures
    assert trials.text(failed) == "system:10% in waiting: slower ×1.5 after 16 rounds"
