"""``doctor``: what this machine can measure, what each lack costs, and what would mend it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.text import Text

from waitbench import engines
from waitbench.engines import cargo
from waitbench.environments import interpreters
from waitbench.execution import hyperfine
from waitbench.model.errors import ExitCode, masked
from waitbench.pipeline.noise import MARGIN, ROUNDS, smallest_rise
from waitbench.reporting.console import make_console
from waitbench.system import machine, tasks
from waitbench.system.instruments import find_system_calls
from waitbench.system.places import Cache
from waitbench.system.watch import Reading


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that measuring takes."""

    what: str
    here: str
    """What this machine has."""
    costs: str = ""
    """What its lack costs; empty where nothing is lacking."""
    remedy: str = ""
    """The command that would mend it, where one would."""
    is_needed: bool = False
    """Whether nothing can be compared without it."""


_NETWORK_ANSWERS_WITHIN_S = 60


def findings() -> Iterator[Finding]:
    """In the order in which people need them; each as soon as it is known."""
    yield _git()
    yield _repository()
    yield _index()


def _git() -> Finding:
    if shutil.which("git"):
        return Finding(what="git", here="installed")
    return Finding(
        what="git",
        here="not installed",
        costs="Commits and branches cannot be looked up; releases have wheels.",
        remedy="sudo apt-get install git",
    )


def _repository() -> Finding:
    engine = engines.DEFAULT
    where = os.environ.get(engine.repository_variable or "") or str(engine.repository)
    if _answers("git", "ls-remote", "--exit-code", "--", where, "HEAD"):
        return Finding(what="repository", here=f"{masked(where)} answers")
    return Finding(
        what="repository",
        here=f"{masked(where)} does not answer",
        costs="Commits, branches and tags that are not in the cache yet cannot be looked up.",
        remedy=f"export {engine.repository_variable}=FOLDER    # a clone of it",
    )


def _index() -> Finding:
    package = engines.DEFAULT.package
    if _answers(sys.executable, "-m", "pip", "index", "versions", package):
        return Finding(what="package index", here="answers")
    return Finding(
        what="package index",
        here=f"does not answer for {package}",
        costs="Releases that are not in the cache yet cannot be installed.",
        remedy=f"{sys.executable} -m pip config debug",
    )


def _answers(*question: str) -> bool:
    """Whether a program that asks the network ends well."""
    try:
        asked = subprocess.run(
            question,
            capture_output=True,
            timeout=_NETWORK_ANSWERS_WITHIN_S,
            check=False,
            # So that nobody is asked for a password.
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0


_STEAL_THAT_MATTERS = 0.01


EXAMPLES = """
\b
Examples:
  ./waitbench doctor
  ./waitbench doctor --noise
"""


def doctor(
    noise: Annotated[
        bool,
        typer.Option(
            "--noise",
            help="Instead: a minute of an idle program against itself: what rise is found here.",
        ),
    ] = False,
) -> None:
    """Say what this machine can measure, what each lack costs, and what would mend it."""
    console = make_console()
    if noise:
        console.print(
            f"{ROUNDS} rounds find a rise of steady CPU by {smallest_rise():.0%} here, where more "
            f"than {MARGIN:.0%} fails.",
            soft_wrap=True,
        )
        return
    helpless = False
    for finding in _findings(Cache()):
        mark = "✗" if finding.costs else "✓"
        console.print(Text(f"{mark} {finding.what}: {finding.here}"), soft_wrap=True)
        if finding.costs:
            console.print(Text(f"    {finding.costs}"), soft_wrap=True)
        if finding.remedy:
            console.print(Text(f"    {finding.remedy}", style="bold"), soft_wrap=True)
        helpless = helpless or bool(finding.costs and finding.is_needed)
    raise typer.Exit(ExitCode.FAILED if helpless else ExitCode.OK)


def _findings(cache: Cache) -> Iterator[Finding]:
    """In the order in which people need them; each as soon as it is known."""
    yield _processors()
    yield _accounting()
    yield _system_calls()
    yield _steal()
    yield _governor()
    yield _schedstat()
    yield _hyperfine(cache)
    yield _pythons(cache)
    yield _compiler()
    yield from findings()


def _processors() -> Finding:
    count = len(os.sched_getaffinity(0))
    lacks = "" if count > 1 else "The processes of a cluster take turns: measure single ones."
    return Finding(what="CPUs", here=str(count), costs=lacks)


def _accounting() -> Finding:
    known = machine.describe()["cpu_accounting"]
    costs = ""
    if known != "exact":
        costs = (
            "Total CPU is exact; its split into user and system time is estimated by ticks, so "
            "system varies several times as much: --fail-on system:10% stays inconclusive for long."
        )
    here = "unknown" if known is None else str(known)
    return Finding(what="CPU accounting", here=here, costs=costs)


def _system_calls() -> Finding:
    counter = find_system_calls()
    if counter.tracepoint is not None:
        return Finding(what="system calls", here="counted")
    return Finding(
        what="system calls",
        here=counter.reason,
        costs="There is no metric syscalls, and the gate judges no rise of it: what waiting "
        "consists of is known by wakeups and polls only.",
        remedy=counter.remedy,
    )


def _steal() -> Finding:
    reading = Reading.now()
    share = reading.steal_s / max(reading.busy_s + reading.steal_s, 1e-9)
    costs = ""
    if share > _STEAL_THAT_MATTERS:
        costs = (
            "Others share this machine's CPUs: rounds are repeated, and verdicts stay inconclusive."
        )
    return Finding(what="steal time", here=f"{share:.1%} of all busy time so far", costs=costs)


def _governor() -> Finding:
    governor = machine.describe()["frequency_governor"]
    if governor in (None, "performance"):
        return Finding(what="frequency governor", here=str(governor or "none seen from here"))
    return Finding(
        what="frequency governor",
        here=str(governor),
        costs="The CPUs change their speed with the load, and figures with it.",
        remedy="sudo cpupower frequency-set -g performance",
    )


def _schedstat() -> Finding:
    if tasks.is_possible():
        return Finding(what="threads' CPU", here="can be read")
    return Finding(
        what="threads' CPU", here="no /proc/<pid>/schedstat", costs="--why does not work."
    )


def _hyperfine(cache: Cache) -> Finding:
    found = hyperfine.installed(cache)
    if found is not None:
        return Finding(what="hyperfine", here=found.version)
    can = shutil.which("apt-get") or shutil.which("cargo")
    return Finding(
        what="hyperfine",
        here="not installed",
        costs="The first comparison sets it up." if can else "Nothing can be measured.",
        remedy="" if can else "cargo install hyperfine",
        is_needed=not can,
    )


def _pythons(cache: Cache) -> Finding:
    found = interpreters.installed(cache)
    return Finding(
        what="Pythons for revisions",
        here=", ".join(python.minor_text for python in found) or "none",
        costs="" if found else "The first comparison fetches one.",
    )


def _compiler() -> Finding:
    compiler = cargo.choose(()).compiler
    if compiler != "none":
        return Finding(what="compiler", here=compiler)
    return Finding(
        what="compiler",
        here="none",
        costs="Commits, branches and checkouts cannot be built; releases have wheels.",
        remedy="https://rustup.rs",
    )
