"""A doctored wheel, and what trials with it come to."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import doctored
from tests.running import run
from tests.standin import write_wheel_of
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


def printed(copy: Path, *words: str) -> list[str]:
    """The lines that a Python prints with the package: of a worker its threads before and after."""
    done = run(sys.executable, *words, env={"PYTHONPATH": str(copy)}, cwd=copy.parent)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("kind", "arguments", "threads"),
    [
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
    copy = doctored.doctor(wheel, tmp_path / "copy", kind)
    assert printed(copy, "-m", "bytewax.run", *arguments) == ["first", threads, "a b c"]
    only_imports = "import bytewax.outputs, threading; print(threading.active_count())"
    assert printed(copy, "-c", only_imports) == ["first", "1"]


def test_a_trial_is_said_by_what_its_verdict_holds() -> None:
    verdict = ROOT / "tests" / "frozen" / "expected" / "gate" / "fail.json"
    trial = doctored.Trial(wall_s=9.0, verdict=json.loads(verdict.read_text()))
    (failed,) = trial.failures
    assert doctored.text(failed) == "system:10% in waiting: slower ×1.5 after 16 rounds"
