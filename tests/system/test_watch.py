"""What else the machine did during a run."""

import os
from typing import ClassVar

import pytest

from waitbench.system import watch
from waitbench.system.watch import Reading, is_disturbed, observed

TICK = os.sysconf("SC_CLK_TCK")
TOLERATED_S = watch.TICKS_TOLERATED / TICK


class Files:
    """Stands in for ``Path``: files with given contents, and no others."""

    contents: ClassVar[dict[str, str]] = {}

    def __init__(self, path: str) -> None:
        self._path = path

    def read_text(self) -> str:
        try:
            return self.contents[self._path]
        except KeyError as error:
            raise FileNotFoundError(self._path) from error


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(watch, "Path", Files)
    monkeypatch.setattr(Files, "contents", {})
    return Files.contents


def stat(**ticks: int) -> str:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    fields = [str(ticks.get(name, 0)) for name in names]
    # Guest time comes last, and is within user.
    return f"cpu  {' '.join(fields)} 900 900\ncpu0 1 2 3\n"


def test_busy_is_all_but_idling_and_what_a_hypervisor_took(files: dict[str, str]) -> None:
    files["/proc/stat"] = stat(
        user=100, nice=20, system=30, idle=5000, iowait=6000, irq=4, softirq=6, steal=7
    )
    assert Reading.now() == Reading(160 / TICK, 7 / TICK)


def test_what_the_run_did_not_use_was_used_by_others() -> None:
    seen = observed(Reading(10.0, 1.0), Reading(13.0, 1.5), 2.0)
    assert seen["machine_foreign_cpu"] == pytest.approx(1.0)
    assert seen["machine_steal"] == pytest.approx(0.5)


@pytest.mark.parametrize("real_s", [0.1, 5.0])
def test_a_round_is_disturbed_beyond_a_share_of_its_time_and_some_ticks(real_s: float) -> None:
    limit_s = watch.FOREIGN_CORES * real_s + TOLERATED_S
    calm, busy = (
        {"time_wall_clock": real_s, "machine_foreign_cpu": limit_s + extra}
        for extra in (-0.001, 0.001)
    )
    assert not is_disturbed(calm)
    assert is_disturbed(busy)


def test_what_grows_with_the_run_itself_is_not_judged() -> None:
    assert not is_disturbed({"time_wall_clock": 1.0, "machine_steal": 99.0})
