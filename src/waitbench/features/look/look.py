"""``look``: the cost of a running worker."""

import json
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from waitbench.commands import options
from waitbench.features.look import observe
from waitbench.features.look.observe import Observed, sum_of
from waitbench.model.errors import UsageError, masked
from waitbench.pipeline.extension import extensions
from waitbench.reporting.console import make_console, print_tables
from waitbench.reporting.document import Heading, Table
from waitbench.reporting.drawing import shorten
from waitbench.reporting.formats import format_count, format_quantity
from waitbench.reporting.idle import column
from waitbench.system import proc
from waitbench.system.installation import called

EXAMPLES = """
\b
Examples:
  ./waitbench look 4711
  ./waitbench look /sys/fs/cgroup/system.slice/redis-server.service --for 120
"""
_MOST_PROCESSES, _MOST_THREADS = 5, 3
"""Rows; one more has the rest."""
_WIDTH = 38
"""Characters of a name."""


def look(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PID|CGROUP_FOLDER",
            help="A process with its descendants, or the cgroup folder of a unit or container.",
        ),
    ],
    seconds: Annotated[
        float,
        typer.Option(
            "--for", metavar="SECONDS", parser=options.seconds, help="How long they are counted."
        ),
    ] = 30.0,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Then find which thread wakes up, in which function, for as long again."
            "\n\nStacks are read for as long, too, but for 8 to 40 s. A process stands still for "
            "some milliseconds each time.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="All processes and threads, as JSON on stdout.")
    ] = False,
) -> None:
    """Say what a running worker costs. Nothing of it is started, stopped or changed."""
    lasted_s, cost, notes = observe.observe(observe.find(target), seconds)
    find = partial(_still_there, target)
    reasons = [kind().of_running(find, lasted_s) for kind in extensions()] if why else []
    if as_json:
        data = {"seconds": lasted_s, "notes": notes, **asdict(cost)}
        print(json.dumps({**data, **ChainMap(*(dict(it.json) for it in reasons))}, indent=2))
        return
    console = make_console()
    print_tables(
        [_table(lasted_s, cost, notes), *(it for reason in reasons for it in reason.tables)],
        console,
    )
    pid = int(target) if target.isdecimal() else min(process.id for process in cost.parts)
    console.print(_worker_file(pid), end="", soft_wrap=True)


def _still_there(target: str) -> Sequence[int]:
    try:
        return sorted(observe.find(target))
    except UsageError:
        return ()


def _worker_file(pid: int) -> str:
    """A worker file to begin with, for the command of a process; empty if it has ended."""
    words = proc.arguments(pid)
    try:
        folder, program = (str(Path(f"/proc/{pid}/{name}").readlink()) for name in ("cwd", "exe"))
    except OSError:
        return ""
    if (path := Path(folder, words[0])).is_file() and "/" in words[0]:
        program = str(path)
    lines = [
        f"# A worker file to begin with: {called('compare')} --worker FILE.toml a={program} b=…",
        f'# It ran in {folder}. Copy what it reads there beside FILE.toml: files = ["…"]',
        f"command = {json.dumps(['{revision}', *words[1:]], ensure_ascii=False)}",
        "ready = { seconds = 5 }    # or { port = true }, where {port} stands for its own port",
    ]
    return masked("".join(f"{line}\n" for line in lines))


def _table(seconds: float, cost: Observed, notes: Sequence[str]) -> Table:
    rows = [("in all", cost), *_rows(cost)]
    costs = [row for _, row in rows]
    count = format_count(len(cost.parts), "process", "processes")
    return Table(
        f"what it costs now · {count} · {format_quantity(seconds, 'second')}",
        (
            (Heading("who"), [name for name, _ in rows]),
            column("% core", [it.cores for it in costs], "core"),
            column("wakes/s", [it.wakeups_per_s for it in costs]),
            column("calls/s", [it.syscalls_per_s for it in costs]),
            column("memory", [it.memory_bytes for it in costs], "byte"),
        ),
        notes,
    )


def _rows(cost: Observed) -> Iterator[tuple[str, Observed]]:
    for process in _shown(cost, _MOST_PROCESSES, "processes"):
        # An argument may be a program of many lines.
        yield shorten(" ".join(f"{process.id or ''} {process.name}".split()), _WIDTH), process
        if len(process.parts) > 1 and process.id:
            for thread in _shown(process, _MOST_THREADS, "threads"):
                yield f"  {' '.join(thread.name.split())}", thread


def _shown(cost: Observed, most: int, plural: str) -> Iterator[Observed]:
    """The busiest parts, then the others together."""
    most += len(cost.parts) == most + 1
    yield from cost.parts[:most]
    if rest := cost.parts[most:]:
        yield sum_of(rest, f"{len(rest)} other {plural}")
