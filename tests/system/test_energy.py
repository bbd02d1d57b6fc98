"""Energy as RAPL has it, read of files made up in its layout."""

import time
from pathlib import Path

import pytest

from waitbench.system.energy import EnergyMeter, EnergyReading

RANGE_UJ = 262_143_328_850


def zone(root: Path, folder: str, name: str, counted: int, range_uj: int = RANGE_UJ) -> Path:
    """A zone of powercap. Returns the file of its counter."""
    path = root / folder
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{range_uj}\n")
    (path / "energy_uj").write_text(f"{counted}\n")
    return path / "energy_uj"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine of two packages, with everything else that is not to be counted."""
    root = tmp_path / "powercap"
    (root / "intel-rapl").mkdir(parents=True)
    zone(root, "intel-rapl:0", "package-0", 1_000_000)
    zone(root, "intel-rapl:0:0", "core", 500_000)
    zone(root, "intel-rapl:0:1", "dram", 200_000)
    zone(root, "intel-rapl:1", "package-1", 5_000_000)
    zone(root, "intel-rapl:2", "psys", 9_000_000)
    zone(root, "intel-rapl-mmio:0", "package-0", 1_000_000)
    return root


def later(meter: EnergyMeter, before: EnergyReading | None, seconds: float) -> EnergyReading:
    """What is there now, as if it were so many seconds after an earlier reading."""
    now = meter.read()
    assert now is not None
    assert before is not None
    return EnergyReading(at_s=before.at_s + seconds, microjoules=now.microjoules)


def test_all_packages_count_and_nothing_counts_twice(root: Path) -> None:
    meter = EnergyMeter.find(root)
    assert [package.name for package in meter.packages] == ["package-0", "package-1"]
    before = meter.read()
    (root / "intel-rapl:0" / "energy_uj").write_text("31000000\n")
    (root / "intel-rapl:1" / "energy_uj").write_text("15000000\n")
    (root / "intel-rapl:0:0" / "energy_uj").write_text("25000000\n")
    assert meter.joules(before, later(meter, before, 2.0)) == pytest.approx(40.0)


def test_a_counter_that_begins_anew_goes_on_from_its_range(root: Path) -> None:
    counter = root / "intel-rapl:0" / "energy_uj"
    counter.write_text(f"{RANGE_UJ - 4_000_000}\n")
    meter = EnergyMeter.find(root)
    before = meter.read()
    counter.write_text("6000000\n")
    assert meter.joules(before, later(meter, before, 2.0)) == pytest.approx(10.0)


def test_what_may_have_wrapped_twice_is_not_told(root: Path) -> None:
    meter = EnergyMeter.find(root)
    before = meter.read()
    assert meter.joules(before, later(meter, before, 500.0)) is not None
    assert meter.joules(before, later(meter, before, 600.0)) is None


def test_power_is_that_above_rest_and_absent_where_rest_is_not_known(root: Path) -> None:
    meter = EnergyMeter.find(root)
    before = meter.read()
    (root / "intel-rapl:0" / "energy_uj").write_text("101000000\n")
    after = later(meter, before, 10.0)
    assert meter.observed(before, after) == {"machine_energy": pytest.approx(100.0)}
    rested = EnergyMeter(packages=meter.packages, at_rest_w=8.0)
    assert rested.observed(before, after) == {
        "machine_energy": pytest.approx(100.0),
        "machine_power": pytest.approx(2.0),
    }


def test_rest_is_what_the_counters_show_meanwhile(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = root / "intel-rapl:1" / "energy_uj"
    clock = iter([100.0, 102.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "sleep", lambda _s: counter.write_text("21000000\n"))
    assert EnergyMeter.find(root).rested().at_rest_w == pytest.approx(8.0)


def test_a_counter_that_disappears_claims_nothing(root: Path) -> None:
    meter = EnergyMeter.find(root)
    before = meter.read()
    (root / "intel-rapl:1" / "energy_uj").unlink()
    assert meter.read() is None
    assert meter.observed(before, meter.read()) == {}
    assert meter.observed(None, before) == {}


def test_what_only_root_may_read_is_said_with_what_would_mend_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_text = Path.read_text

    def refusing(path: Path, *arguments: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(path, *arguments)

    monkeypatch.setattr(Path, "read_text", refusing)
    meter = EnergyMeter.find(root)
    assert meter.packages == ()
    assert meter.reason == "only root may read the counters"
    assert meter.remedy == f"sudo chmod o+r {root}/intel-rapl:*/energy_uj"
    assert meter.read() is None


@pytest.mark.parametrize("content", ["", "none\n"])
def test_a_counter_that_is_no_number_is_said(root: Path, content: str) -> None:
    (root / "intel-rapl:1" / "energy_uj").write_text(content)
    meter = EnergyMeter.find(root)
    assert (meter.packages, "cannot be read" in meter.reason) == ((), True)


def test_a_machine_without_counters_claims_nothing_and_rests_for_nothing(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "absent"):
        meter = EnergyMeter.find(root)
        assert "a virtual machine is given none" in meter.reason
        assert meter.rested() is meter
        assert meter.observed(meter.read(), meter.read()) == {}
