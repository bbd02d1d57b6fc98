"""``doctor``: checks this machine for everything that measuring takes."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import typer
from rich.text import Text

from waitbench.engines import cargo
from waitbench.execution import hyperfine
from waitbench.model.errors import ExitCode
from waitbench.reporting.console import make_console, print_prose
from waitbench.reporting.drawing import BROKEN, HOLDS, MARK_STYLES, WARNING
from waitbench.system import machine, proc
from waitbench.system.machine import CpuTimes, find_instruments
from waitbench.system.paths import Cache


@dataclass(frozen=True)
class Requirement:
    """One requirement of measuring."""

    name: str
    here: str
    consequence: str = ""
    """The consequence if it is missing; else empty."""
    remedy: str = ""
    is_needed: bool = False
    """Whether nothing can be compared without it."""


def doctor() -> None:
    """Check what this machine can measure, what is missing, and how to fix it."""
    console = make_console()
    cannot_measure = False
    for finding in _findings(Cache()):
        mark = (BROKEN if finding.is_needed else WARNING) if finding.consequence else HOLDS
        first = Text.assemble((mark, MARK_STYLES[mark]), " ")
        print_prose(f"{finding.name}: {finding.here}", console, first=first)
        if finding.consequence:
            print_prose(finding.consequence, console, first="    ")
        if finding.remedy:
            console.print(Text(f"    {finding.remedy}", style="bold"), soft_wrap=True)
        cannot_measure = cannot_measure or bool(finding.consequence and finding.is_needed)
    raise typer.Exit(ExitCode.FAILED if cannot_measure else ExitCode.OK)


def _findings(cache: Cache) -> Iterator[Requirement]:
    """The most important first, each as soon as it is known."""
    yield from _kernel()
    yield from _load()
    yield from _programs(cache)


def _check(
    name: str, here: str | None, status_if_missing: str, consequence: str, remedy: str = ""
) -> Requirement:
    return (
        Requirement(name, here)
        if here
        else Requirement(name, status_if_missing, consequence, remedy)
    )


def _kernel() -> Iterator[Requirement]:
    count = len(os.sched_getaffinity(0))
    alone = "With one CPU the processes of a cluster take turns: measure single processes."
    yield Requirement("CPUs", str(count), "" if count > 1 else alone)
    accounting = str(machine.describe()["cpu_accounting"] or "unknown")
    by_ticks = (
        "Total CPU is exact; its split into user and system time is estimated by ticks, so system "
        "varies several times as much: --fail-on system:10% stays inconclusive for long."
    )
    yield Requirement("CPU accounting", accounting, "" if accounting == "exact" else by_ticks)
    reason, remedy = machine.why_uncounted()
    yield _check(
        "wake-ups",
        None if reason else "counted",
        reason,
        "They are read from /proc, where those of ended threads and processes are estimated.",
        remedy,
    )
    counted = find_instruments()
    yield _check(
        "system calls",
        None if counted.tracepoint is None else "counted",
        counted.reason,
        "The metric syscalls is missing, and the gate does not judge it; wakeups and polls still "
        "explain a cost.",
        counted.remedy,
    )
    yield _check(
        "threads' CPU",
        "can be read" if proc.has_schedstat() else None,
        "no /proc/<pid>/schedstat",
        "No thread's wake-ups and CPU can be observed.",
    )


def _load() -> Iterator[Requirement]:
    reading = CpuTimes.now()
    share = reading.steal_s / max(reading.busy_s + reading.steal_s, 1e-9)
    costs = "Other machines use the same CPUs: figures vary more, and verdicts stay inconclusive."
    here = f"{share:.1%} of all busy time so far"
    yield Requirement("steal time", here, costs if share > 0.01 else "")
    governor = machine.describe()["frequency_governor"]
    yield _check(
        "frequency governor",
        str(governor or "not visible from here") if governor in (None, "performance") else None,
        str(governor),
        "The speed of the CPUs changes with the load, and figures change with it.",
        "sudo cpupower frequency-set -g performance",
    )


def _programs(cache: Cache) -> Iterator[Requirement]:
    program = hyperfine.installed(cache)
    can_install = shutil.which("apt-get") or shutil.which("cargo")
    if program is None and not can_install:
        costs, remedy = "Nothing can be measured.", "cargo install hyperfine"
        yield Requirement("hyperfine", "not installed", costs, remedy, is_needed=True)
    else:
        version = program.version if program else None
        yield _check("hyperfine", version, "not installed", "The first comparison sets it up.")
    compiler = cargo.choose_toolchain().compiler
    yield _check(
        "compiler",
        None if compiler == cargo.NONE else compiler,
        "none",
        "Commits, branches and checkouts cannot be built; releases have wheels.",
        "https://rustup.rs",
    )
    yield _check(
        "git",
        shutil.which("git"),
        "not installed",
        "Commits and branches cannot be looked up; releases have wheels.",
        "sudo apt-get install git",
    )
