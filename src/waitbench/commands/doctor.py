"""``doctor``: checks whether this machine has everything that measuring needs."""

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
from waitbench.reporting.drawing import FAILURE, HOLDS, MARK_STYLES, WARNING
from waitbench.system import machine, proc
from waitbench.system.machine import CpuTimes, find_instruments
from waitbench.system.paths import Cache


@dataclass(frozen=True)
class Requirement:
    """A requirement of measuring, and whether this machine meets it."""

    name: str
    status: str
    consequence: str = ""
    """The consequence if it is not met; empty if it is met."""
    remedy: str = ""
    is_needed: bool = False
    """Whether nothing can be measured without it."""


def doctor() -> None:
    """Check what this machine can measure, what is missing, and how to fix it."""
    console = make_console()
    cannot_measure = False
    for requirement in _requirements(Cache()):
        mark = (FAILURE if requirement.is_needed else WARNING) if requirement.consequence else HOLDS
        first = Text.assemble((mark, MARK_STYLES[mark]), " ")
        print_prose(f"{requirement.name}: {requirement.status}", console, first=first)
        if requirement.consequence:
            print_prose(requirement.consequence, console, first="    ")
        if requirement.remedy:
            console.print(Text(f"    {requirement.remedy}", style="bold"), soft_wrap=True)
        cannot_measure = cannot_measure or bool(requirement.consequence and requirement.is_needed)
    raise typer.Exit(ExitCode.FAILED if cannot_measure else ExitCode.OK)


def _requirements(cache: Cache) -> Iterator[Requirement]:
    """Yields each requirement as soon as it is checked, the most important first."""
    yield from _kernel()
    yield from _load()
    yield from _programs(cache)


def _check(
    name: str, status: str | None, status_if_missing: str, consequence: str, remedy: str = ""
) -> Requirement:
    """Makes a requirement that is met if ``status`` is not empty."""
    if status:
        return Requirement(name, status)
    return Requirement(name, status_if_missing, consequence, remedy)


def _kernel() -> Iterator[Requirement]:
    count = len(os.sched_getaffinity(0))
    if_single = "With one CPU the processes of a cluster take turns: measure single processes."
    yield Requirement("CPUs", str(count), "" if count > 1 else if_single)
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
    consequence = (
        "Other machines use the same CPUs: figures vary more, and verdicts stay inconclusive."
    )
    status = f"{share:.1%} of all busy time so far"
    yield Requirement("steal time", status, consequence if share > 0.01 else "")
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
        consequence, remedy = "Nothing can be measured.", "cargo install hyperfine"
        yield Requirement("hyperfine", "not installed", consequence, remedy, is_needed=True)
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
