"""What a comparison ran on, what else the machine did, and what its kernel counts."""

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from waitbench.model.errors import UsageError
from waitbench.model.metrics import Instruments
from waitbench.system import machine
from waitbench.system.machine import CpuTimes, find_instruments, is_disturbed


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
    write_groups(tmp_path, groups, files)
    assert machine.usable_cpus(tmp_path) == expected


def write_groups(root: Path, groups: str, files: Mapping[str, str]) -> None:
    named = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    for name, text in {"proc/self/cgroup": groups, **named}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "kib"),
    [
        ("", {}, 900),
        (
            "0::/a/b\n",
            {
                "a/memory.max": "512000\n",
                "a/memory.current": "204800\n",
                "a/memory.stat": "anon 7\ninactive_file 102300\nactive_file 100\n",
                "a/b/memory.max": "max\n",
                "a/b/memory.current": "102400\n",
            },
            400,
        ),
        ("0::/\n", {"memory.max": "102400\n", "memory.current": "204800\n"}, 0),
        ("0::/\n", {"memory.high": "204800\n", "memory.current": "102400\n"}, 100),
        (
            "4:memory:/a\n0::/\n",
            {
                "memory/memory.limit_in_bytes": "9223372036854771712\n",
                "memory/memory.usage_in_bytes": "10240\n",
                "memory/a/memory.limit_in_bytes": "307200\n",
                "memory/a/memory.usage_in_bytes": "204800\n",
                "memory/a/memory.stat": "active_file 1024\ntotal_inactive_file 2048\n",
            },
            102,
        ),
    ],
    ids=["no groups", "parent", "nothing left", "slowed down", "version 1"],
)
def test_a_container_has_no_more_memory_than_its_limit_leaves(
    groups: str, files: dict[str, str], kib: int, tmp_path: Path
) -> None:
    write_groups(tmp_path, groups, files)
    (tmp_path / "proc/meminfo").write_text("MemTotal:  1000 kB\nMemAvailable:  900 kB\n")
    assert machine.available_memory(tmp_path) == kib << 10


TICK = os.sysconf("SC_CLK_TCK")
STAT = "cpu  9 9 9 5000 6000 9 9 7 9 9\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n"
"""Idle time, waiting time and steal are the fourth, fifth and eighth."""


def test_busy_is_all_but_idling_and_what_a_hypervisor_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / Path(path).name)
    monkeypatch.setattr("waitbench.system.machine.time.monotonic", lambda: 60.0)
    busy_s, steal_s = CpuTimes.now()
    assert busy_s == pytest.approx(2 * 60 - 11007 / TICK)
    assert steal_s == 7 / TICK


def test_busy_is_nothing_where_the_kernel_counts_no_idle_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in gVisor."""
    (tmp_path / "stat").write_text(f"cpu {' 0' * 10}\ncpu0 {' 0' * 10}\n")
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / Path(path).name)
    assert CpuTimes.now() == CpuTimes(0.0, 0.0)


def test_of_readings_of_busy_time_the_least_delayed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stat").write_text(STAT)
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / Path(path).name)
    times = iter((60.0, 61.0, 62.0, 62.1, 63.0, 64.0))
    monkeypatch.setattr("waitbench.system.machine.time.monotonic", lambda: next(times))
    assert CpuTimes.now().busy_s == pytest.approx(2 * 62 - 11007 / TICK)


@pytest.mark.parametrize("real_s", [0.1, 5.0])
def test_a_round_is_disturbed_by_others_beyond_a_share_of_its_time_and_some_ticks(
    real_s: float,
) -> None:
    limit_s = machine.OTHER_CORES * real_s + machine.TICKS_TOLERATED / TICK
    for extra_s, disturbs in ((-0.001, False), (0.001, True)):
        seen = {"machine_foreign_cpu": limit_s + extra_s, "machine_steal": 99.0}
        assert is_disturbed({"time_wall_clock": real_s, **seen}) is disturbs


@pytest.mark.parametrize(("usual", "most"), [(0.0, 0.1), (0.2, 0.35), (1.0, 1.35)])
def test_the_usual_load_and_a_quarter_more_disturb_nothing(usual: float, most: float) -> None:
    for extra_s, disturbs in ((-0.1, False), (0.1, True)):
        seen = {"time_wall_clock": 100.0, "machine_foreign_cpu": 100 * most + 0.04 + extra_s}
        assert is_disturbed(seen, usual) is disturbs


def test_a_load_of_over_half_of_the_cpus_that_waitbench_may_use_is_never_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "usable_cpus", lambda: 2.0)
    assert machine.usual_load(9.0, 10.0) == 0.9
    assert machine.usual_load(11.0, 10.0) == 0.0


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The event in a tracing file system as it would look, mounted."""
    entry = tmp_path / "tracing" / "events" / "raw_syscalls" / "sys_enter" / "id"
    entry.parent.mkdir(parents=True)
    entry.write_text("443\n")
    monkeypatch.setattr(machine, "_TRACING", tmp_path / "tracing")
    monkeypatch.setattr(machine, "open_event", lambda *_event: os.open(entry, os.O_RDONLY))
    return entry


def test_a_counter_that_can_be_opened_is_taken(entry: Path) -> None:
    assert find_instruments() == Instruments(tracepoint=443)


@pytest.mark.parametrize(
    ("text", "reason", "remedy"),
    [
        (None, "not mounted", "sudo mount -t tracefs"),
        ("proc", "sys_enter/id cannot be read", "sudo chmod o+rx"),
    ],
)
def test_a_tracepoint_that_is_missing_or_unreadable_is_reported_with_a_remedy(
    text: str | None, reason: str, remedy: str, entry: Path
) -> None:
    entry.unlink() if text is None else entry.write_text(text)
    allowed = find_instruments()
    assert (allowed.tracepoint, reason in allowed.reason) == (None, True)
    assert allowed.remedy.startswith(remedy)


def test_what_is_switched_off_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_INSTRUMENTS", "off")
    allowed = find_instruments()
    assert (allowed.tracepoint, allowed.reason) == (None, "BENCH_INSTRUMENTS is off")
    assert allowed.remedy == "unset BENCH_INSTRUMENTS"
    monkeypatch.setenv("BENCH_INSTRUMENTS", "of")
    with pytest.raises(UsageError, match="BENCH_INSTRUMENTS=of: must be on or off"):
        find_instruments()


@pytest.mark.parametrize(
    ("refused", "remedy"),
    [
        (errno.EACCES, "sudo sysctl kernel.perf_event_paranoid=-1"),
        (errno.EPERM, "--cap-add SYS_ADMIN"),
    ],
)
def test_a_refused_counter_names_what_refuses_it(
    refused: int, remedy: str, entry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(machine, "open_event", refuse)
    allowed = find_instruments()
    assert allowed.tracepoint is None
    assert allowed.reason.startswith("the kernel does not count for this user: ")
    assert os.strerror(refused) in allowed.reason
    assert remedy in allowed.remedy
    reason, its_remedy = machine.why_uncounted()
    assert os.strerror(refused) in reason
    assert remedy in its_remedy
