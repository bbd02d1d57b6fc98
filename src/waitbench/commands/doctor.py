"""``doctor``: checks whether this machine has everything that measuring needs."""

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
from waitbench.system import machine
from waitbench.system.machine import find_instruments
from waitbench.system.paths import Cache


@dataclass(frozen=True)
class Requirement:
    """A requirement of measuring, and whether this machine meets it."""

    name: str
    status: str
    is_met: bool
    consequence: str
    """The consequence if it is not met."""
    remedy: str = ""
    is_needed: bool = False
    """Whether nothing can be measured without it."""


def doctor() -> None:
    """Check what this machine can measure, what is missing, and how to fix it."""
    console, code = make_console(), ExitCode.OK
    for requirement in _requirements(Cache()):
        mark = HOLDS if requirement.is_met else FAILURE if requirement.is_needed else WARNING
        first = Text.assemble((mark, MARK_STYLES[mark]), " ")
        print_prose(f"{requirement.name}: {requirement.status}", console, first=first)
        if not requirement.is_met:
            print_prose(requirement.consequence, console, first="    ")
            if requirement.remedy:
                console.print(Text(f"    {requirement.remedy}", style="bold"), soft_wrap=True)
            code = ExitCode.FAILED if requirement.is_needed else code
    raise typer.Exit(code)


def _requirements(cache: Cache) -> Iterator[Requirement]:
    """Yields each requirement as soon as it is checked, the most important first."""
    described = machine.describe()
    accounting = described["cpu_accounting"]
    yield Requirement(
        "CPU accounting",
        str(accounting or "unknown"),
        accounting == "exact",
        "Total CPU is exact; its split into user and system time is estimated by ticks, so system "
        "varies several times as much: --fail-on system:10% stays inconclusive for long.",
    )
    reason, remedy = machine.why_uncounted()
    yield Requirement(
        "wake-ups",
        reason or "counted",
        not reason,
        "They are read from /proc, where those of ended threads and processes are estimated.",
        remedy,
    )
    counted = find_instruments()
    yield Requirement(
        "system calls",
        counted.reason or "counted",
        counted.tracepoint is not None,
        "The metric syscalls is missing, and the gate does not judge it; wakeups and polls still "
        "explain a cost.",
        counted.remedy,
    )
    governor = described["frequency_governor"]
    yield Requirement(
        "frequency governor",
        str(governor or "not visible from here"),
        governor in (None, "performance"),
        "The speed of the CPUs changes with the load, and figures change with it.",
        "sudo cpupower frequency-set -g performance",
    )
    program = hyperfine.installed(cache)
    can_install = bool(shutil.which("apt-get") or shutil.which("cargo"))
    yield Requirement(
        "hyperfine",
        program.version if program else "not installed",
        program is not None,
        "The first comparison sets it up." if can_install else "Nothing can be measured.",
        "" if can_install else "cargo install hyperfine",
        is_needed=not can_install,
    )
    compiler = cargo.choose_toolchain().compiler
    yield Requirement(
        "compiler",
        compiler,
        compiler != cargo.NONE,
        "Commits, branches and checkouts cannot be built; releases have wheels.",
        "https://rustup.rs",
    )
    git = shutil.which("git")
    yield Requirement(
        "git",
        git or "not installed",
        git is not None,
        "Commits and branches cannot be looked up; releases have wheels.",
        "sudo apt-get install git",
    )
