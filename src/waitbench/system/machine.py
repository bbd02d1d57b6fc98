"""The machine: its description, the load of other programs, and its kernel's counters."""

import errno
import gzip
import hashlib
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from waitbench.model.errors import UsageError
from waitbench.model.metrics import OTHER_CPU, STEAL, Instruments
from waitbench.system.counters import CONTEXT_SWITCHES, INHERIT, TRACEPOINT, open_event

USUAL_TOLERATED = 1.25
"""The multiple of the usual load of other programs that is tolerated."""
OTHER_CORES = 0.10
"""The number of cores beyond which other load disturbs a round."""
TICKS_TOLERATED = 4
"""Other load of so many clock ticks never disturbs a round: the kernel rounds to ticks."""
_READINGS = 3
_LIMIT_FILES: dict[str, Sequence[Sequence[str]]] = {
    "cpu": [("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")],
    "memory": [
        ("memory.max", "memory.current"),
        ("memory.high", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
}
"""Files of a cgroup, by controller: a limit, and what it limits, in versions 2 and 1."""
_SETTING = "BENCH_INSTRUMENTS"
_TRACING = Path("/sys/kernel/tracing")
_CONTAINER_REMEDY = (
    "podman run --cap-add SYS_ADMIN    # or --cap-add PERFMON --security-opt seccomp=unconfined"
)
_LEVEL_REMEDY = "sudo sysctl kernel.perf_event_paranoid=-1"


def describe() -> dict[str, object]:
    return {
        "fingerprint": fingerprint(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": cpus(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "clock_ticks_per_second": os.sysconf("SC_CLK_TCK"),
        "cpu_accounting": _cpu_accounting(),
        "frequency_governor": _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
    }


def fingerprint() -> str:
    """12 hex digits that identify a machine in all comparisons, and do not disclose its name."""
    identity = _read(Path("/etc/machine-id")) or platform.node()
    features = (identity, platform.machine(), _cpu_model(), str(cpus()))
    return hashlib.sha256("\0".join(features).encode()).hexdigest()[:12]


def cpus() -> int:
    return len(os.sched_getaffinity(0))


def usable_cpus(root: Path = Path("/")) -> float:
    """The number of CPUs that this process may use: at most the quotas of its containers."""
    quotas = (most / period for _, most, period in _limits("cpu", root) if period)
    return min([float(cpus()), *quotas])


def available_memory(root: Path = Path("/")) -> int:
    """The number of bytes that programs can take without swapping, here and in each container."""
    meminfo = _read(root / "proc/meminfo") or ""
    available = [_sum_of_lines(r"MemAvailable:\s+(\d+) kB", meminfo) << 10]
    for group, most, used in _limits("memory", root):
        # The kernel takes pages of files before those of programs.
        stat = _read(group / "memory.stat") or ""
        pages = r"(?:in)?active_file (\d+)"
        cached = _sum_of_lines(f"total_{pages}", stat) or _sum_of_lines(pages, stat)
        available.append(max(0, most - used + cached))
    return min(available)


def _limits(controller: str, root: Path) -> Iterator[tuple[Path, int, int]]:
    """Yields the folder of each container with a limit, and the two numbers in its files."""
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        # The only hierarchy of cgroups version 2 has no controllers in this file.
        if not controllers or controller in controllers.split(","):
            group = root / "sys/fs/cgroup" / controllers / path.lstrip("/")
            # Within a container, the path may be the host's: only parents exist.
            for folder, pair in product((group, *group.parents), _LIMIT_FILES[controller]):
                words = " ".join(_read(folder / name) or "" for name in pair)
                if match := re.fullmatch(r"(\d+) (\d+)", words):
                    yield folder, int(match[1]), int(match[2])


def _sum_of_lines(pattern: str, text: str) -> int:
    return sum(map(int, re.findall(f"^{pattern}$", text, re.MULTILINE)))


def _cpu_model() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return match[1] if match else platform.processor()


def _cpu_accounting() -> str | None:
    """How the kernel splits CPU time into user and system time: exactly, or by ticks."""
    try:
        config = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode("utf-8", "replace")
    except (OSError, gzip.BadGzipFile):
        config = _read(Path(f"/boot/config-{platform.release()}")) or ""
    if re.search(r"^CONFIG_VIRT_CPU_ACCOUNTING_(GEN|NATIVE)=y$", config, re.MULTILINE):
        return "exact"
    if "CONFIG_TICK_CPU_ACCOUNTING=y" in config:
        rate = re.search(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)
        return f"tick {rate[1]} Hz" if rate else "tick"
    return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return None


class CpuTimes(NamedTuple):
    """Busy and stolen time of all CPUs, in seconds since the machine's start."""

    busy_s: float
    steal_s: float

    @classmethod
    def now(cls) -> "CpuTimes":
        """Reads ``/proc/stat``; zero where the kernel counts no idle time, as gVisor.

        Its idle times are exact. Its busy times count ticks, and a worker's timer meets either all
        ticks or none: two workers that use 6 % of a core each would be seen to use 20 and 0 %.
        """
        readings = list[tuple[float, float, str]]()
        for _ in range(_READINGS):
            begun_s = time.monotonic()
            text = Path("/proc/stat").read_text()
            readings.append((time.monotonic() - begun_s, begun_s, text))
        # A delay within a reading would count once for each CPU.
        _, now_s, text = min(readings)
        total, *others = text.splitlines()
        # user, nice, system, idle, iowait, irq, softirq, steal
        ticks = [int(total.split()[field]) for field in (4, 5, 8)]
        idle_s, wait_s, steal_s = (it / os.sysconf("SC_CLK_TCK") for it in ticks)
        number = sum(line.startswith("cpu") for line in others) if idle_s else 0
        return cls(number * now_s - idle_s - wait_s - steal_s, steal_s)


def other_load(before: CpuTimes, after: CpuTimes, run_cpu_s: float) -> dict[str, float]:
    """Returns the metrics of other load during a run, from readings before and after it.

    Steal time grows with the CPU that a run wants, so it is recorded but never judged.
    """
    return {
        OTHER_CPU: max(0.0, after.busy_s - before.busy_s - run_cpu_s),
        STEAL: max(0.0, after.steal_s - before.steal_s),
    }


def is_disturbed(baseline: Mapping[str, float], usual_cores: float = 0.0) -> bool:
    """Whether other load disturbed a round, which is then repeated, or else marked as disturbed.

    ``usual_cores`` is the least ``usual_load`` in the baseline's runs so far.

    Takes the metrics of the baseline's run: otherwise a candidate that makes the kernel or a broker
    work could discard its own rounds. As runs alternate, a long disturbance reaches the baseline,
    too. The gate's question ``foreign-cpu`` judges other load in the candidate's runs.
    """
    tolerated_s = TICKS_TOLERATED / os.sysconf("SC_CLK_TCK")
    other_s = baseline.get(OTHER_CPU, 0.0)
    most_cores = OTHER_CORES + USUAL_TOLERATED * usual_cores
    return other_s > most_cores * baseline["time_wall_clock"] + tolerated_s


def usual_load(other_s: float, seconds: float) -> float:
    """The load of other programs, in cores, if a worker hardly waits for a CPU because of it.

    Zero if it is over half of the usable CPUs: such a load hides how often workers wake up.
    """
    cores = other_s / seconds
    return cores if cores <= usable_cpus() / 2 else 0.0


def find_instruments() -> Instruments:
    """Tests whether system calls can be counted. Raises ``UsageError`` for an invalid setting."""
    setting = os.environ.get(_SETTING) or "on"
    if setting not in ("on", "off"):
        raise UsageError(f"{_SETTING}={setting}: must be on or off.")
    if setting == "off":
        return Instruments(reason=f"{_SETTING} is off", remedy=f"unset {_SETTING}")
    entry = _TRACING / "events/raw_syscalls/sys_enter/id"
    try:
        tracepoint = int(entry.read_text())
    except FileNotFoundError:
        mount = f"sudo mount -t tracefs tracefs {_TRACING}"
        return Instruments(reason="the tracing file system is not mounted", remedy=mount)
    except (OSError, ValueError) as error:
        readable = f"sudo chmod o+rx {_TRACING} && sudo chmod o+r {entry}"
        return Instruments(reason=f"{entry} cannot be read: {error}", remedy=readable)
    reason, remedy = why_uncounted((TRACEPOINT, tracepoint))
    return Instruments(tracepoint=None if reason else tracepoint, reason=reason, remedy=remedy)


def why_uncounted(event: tuple[int, int] = CONTEXT_SWITCHES) -> tuple[str, str]:
    """Why the kernel does not count an event for this user, and a remedy; both empty if it does."""
    try:
        os.close(open_event(*event, INHERIT))
    except OSError as error:
        # EACCES comes from the setting perf_event_paranoid, EPERM from a container's filter.
        remedy = _CONTAINER_REMEDY if error.errno == errno.EPERM else _LEVEL_REMEDY
        return f"the kernel does not count for this user: {error.strerror}", remedy
    return "", ""
