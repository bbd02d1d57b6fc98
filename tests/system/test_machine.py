"""What a comparison ran on, and what else the machine did."""

import os
import re
from pathlib import Path

import pytest

from waitbench.system import machine
from waitbench.system.machine import CpuTimes, is_disturbed


def test_a_fingerprint_tells_machines_apart_and_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = {"/etc/machine-id": "0123456789abcdef", "/proc/cpuinfo": "model name : One CPU"}
    monkeypatch.setattr(machine, "_read", lambda path: secret.get(str(path)))
    ours = machine.fingerprint()
    assert re.fullmatch(r"[0-9a-f]{12}", ours)
    assert machine.fingerprint() == ours
    assert ours not in secret["/etc/machine-id"]
    secret["/etc/machine-id"] = "another"
    theirs = machine.fingerprint()
    secret["/proc/cpuinfo"] = "model name : Another CPU"
    assert len({ours, theirs, machine.fingerprint()}) == 3


@pytest.mark.parametrize(
    ("config", "accounting"),
    [
        ("CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_HZ=250\n", "tick 250 Hz"),
        ("CONFIG_TICK_CPU_ACCOUNTING=y\n", "tick"),
        ("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\nCONFIG_HZ=250\n", "exact"),
        ("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", "exact"),
        ("# nothing of it\n", None),
    ],
)
def test_the_kernels_accounting_is_read_from_its_configuration(
    config: str, accounting: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compressed_one(_path: Path) -> bytes:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", no_compressed_one)
    monkeypatch.setattr(machine, "_read", lambda _path: config)
    assert machine.describe()["cpu_accounting"] == accounting


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("0::/outside\n", {"cpu.max": "50000 100000\n"}, 0.5),
        (
            "5:memory:/a\n4:cpu,cpuacct:/a\n0::/\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "20000\n", "cpu,cpuacct/cpu.cfs_period_us": "10000\n"},
            2.0,
        ),
        (
            "4:cpu,cpuacct:/\n",
            {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/cpu.cfs_period_us": "10000\n"},
            8.0,
        ),
        ("0::/a\n", {"a/cpu.max": "1600000 100000\n"}, 8.0),
        ("", {}, 8.0),
    ],
    ids=["parent", "root", "namespace", "version 1", "no quota", "quota above", "no groups"],
)
def test_a_container_may_use_no_more_cpus_than_its_quota(
    groups: str,
    files: dict[str, str],
    expected: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "cpus", lambda: 8)
    named = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {"proc/self/cgroup": groups, **named}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert machine.usable_cpus(tmp_path) == expected


TICK = os.sysconf("SC_CLK_TCK")
STAT = "cpu  100 20 30 5000 6000 4 6 7 900 900\ncpu0 1 2 3\n"
"""User, nice, system, idle, waiting, two kinds of interrupts, steal; guests are within user."""


def test_busy_is_all_but_idling_and_what_a_hypervisor_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / Path(path).name)
    assert CpuTimes.now() == CpuTimes(160 / TICK, 7 / TICK)


@pytest.mark.parametrize("real_s", [0.1, 5.0])
def test_a_round_is_disturbed_by_others_beyond_a_share_of_its_time_and_some_ticks(
    real_s: float,
) -> None:
    limit_s = machine.FOREIGN_CORES * real_s + machine.TICKS_TOLERATED / TICK
    for extra_s, disturbs in ((-0.001, False), (0.001, True)):
        seen = {"machine_foreign_cpu": limit_s + extra_s, "machine_steal": 99.0}
        assert is_disturbed({"time_wall_clock": real_s, **seen}) is disturbs
