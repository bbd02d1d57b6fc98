"""Description of the machine."""

import gzip
import hashlib
import os
import platform
import re
from pathlib import Path


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
    """12 hex digits that identify a machine across sessions, without its name."""
    identity = _read(Path("/etc/machine-id")) or platform.node()
    features = (identity, platform.machine(), _cpu_model(), str(cpus()))
    return hashlib.sha256("\0".join(features).encode()).hexdigest()[:12]


def cpus() -> int:
    return len(os.sched_getaffinity(0))


def usable_cpus(root: Path = Path("/")) -> float:
    """Returns how many CPUs this process may use: no more than the quotas of its containers."""
    quotas = []
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        # Version 2 has one hierarchy, without controllers here.
        if not controllers or "cpu" in controllers.split(","):
            mount = root / "sys/fs/cgroup" / controllers
            group = mount / path.lstrip("/")
            # A container may see the path that its group has outside.
            groups = [it for it in (group, *group.parents) if it.is_relative_to(mount)]
            quotas += [quota for it in groups if (quota := _cpu_quota(it)) is not None]
    return min([float(cpus()), *quotas])


def _cpu_quota(group: Path) -> float | None:
    names = ("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    for words in (" ".join(_read(group / name) or "" for name in files) for files in names):
        if match := re.fullmatch(r"(\d+) ([1-9]\d*)", words):
            return int(match[1]) / int(match[2])
    return None


def _cpu_model() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", _read(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return match[1] if match else platform.processor()


def _cpu_accounting() -> str | None:
    """Whether the kernel splits CPU time exactly, or by samples at each tick."""
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
