r"""Compares tools: which regressions of idle workers each finds, how often, and how fast.

    ./waitbench --help >/dev/null && \
        .bench/venv/bin/python benchmarks/peers.py --output peers.jsonl [OPTIONS, see --help]

Each tool (benchmarks/peer_tools.py) compares the same pairs of workers (benchmarks/pairs/ and
workers/) on this machine. A trial gives a score: the higher it is, the surer is a regression. The
scores of pairs of equal workers set the threshold of a tool: the lowest at which it calls at most
5 % of them regressions. That favours the tools, because the false alarms of the table come from the
same pairs. waitbench has no threshold: exit code 1 is a regression. For planted regressions, its
window is as long as that of the other tools. A tool that does not measure a metric misses the
regressions of that metric.

Results are appended to --output. After an interruption, or --minutes, the same command measures the
others. Kinds and tools alternate, so the table is balanced at any time.
"""

import math
import os
import platform
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from shlex import join
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from rich.console import Console

from benchmarks import peer_tools
from benchmarks.common import command_line
from benchmarks.peer_tools import MOST_FALSE, OURS, PAIRS, TOOLS, Setup, Tool, Workers
from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import services_of
from waitbench.environments.virtualenvs import EnvironmentBuilder
from waitbench.execution import services
from waitbench.model.errors import HarnessError
from waitbench.model.launch import filled
from waitbench.model.revision import Environment
from waitbench.pipeline.request import Request, validate
from waitbench.reporting.output import Log
from waitbench.system.paths import ROOT, Cache
from waitbench.system.tcp import free_port

EQUAL = "equal"
NOISE = """
import time
while True:
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(1.6)
"""
"""A program that uses a fifth of a core, in bursts."""


class Pair(NamedTuple):
    """Two revisions of the worker of a worker file."""

    worker: Path
    baseline: str
    candidate: str
    options: tuple[str, ...] = ()
    """More options of compare.sh."""

    @property
    def equal_kind(self) -> str:
        """The kind of equal pairs that set the thresholds for this pair."""
        return EQUAL if self.worker.stem == "planted" else f"{EQUAL} {self.worker.stem}"


def _planted(variant: str) -> Pair:
    return Pair(PAIRS / "planted.toml", "base", variant)


KINDS = {
    "plus-10": _planted("plus-10"),
    "plus-25": _planted("plus-25"),
    "double": _planted("double"),
    "rare-double": _planted("rare-double"),
    "late-spin": _planted("late-spin"),
    "end-burst": _planted("end-burst"),
    "reaped-child": _planted("reaped-child"),
    "wake-ups": _planted("wake-ups"),
    "late-60ms": _planted("late-60ms"),
    "memory-20mb": _planted("memory-20mb"),
    "cheroot": Pair(ROOT / "workers" / "servers" / "cheroot.toml", "8.6.0", "8.5.2"),
    "rq": Pair(ROOT / "workers" / "queues" / "rq.toml", "2.2.0", "2.1.0", ("-s", "rq")),
    "bytewax": Pair(PAIRS / "bytewax.toml", "0.16.1", "0.16.0"),
}
"""For each kind of regression, a worker and a worse one."""
EQUAL_PAIRS = {pair.equal_kind: pair._replace(candidate=pair.baseline) for pair in KINDS.values()}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One comparison by one tool."""

    kind: str
    repeat: int
    tool: str
    setup: Setup


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a trial."""

    trial: Trial
    score: float
    detail: str
    wall_s: float

    def __str__(self) -> str:
        name = f"{self.trial.kind} {self.trial.repeat + 1}, {self.trial.tool}"
        return f"{name}: {self.score:.3g} in {self.wall_s:.0f} s ({self.detail})"


def schedule(
    kinds: Sequence[str], tools: Sequence[str], repeats: int, equal: int, setup: Setup
) -> list[Trial]:
    """Plans all trials, in an order that has all kinds about equally often at any time.

    Each kind of regression has ``repeats`` pairs, each kind of equal workers ``equal`` pairs.
    """
    turns = max(repeats, 1)
    equal_kinds = dict.fromkeys(KINDS[kind].equal_kind for kind in kinds)
    pairs = []
    for turn in range(turns):
        numbers = range(equal * turn // turns, equal * (turn + 1) // turns)
        pairs += [(kind, number) for number in numbers for kind in equal_kinds]
        pairs += [(kind, turn) for kind in kinds if repeats]
    return [
        Trial(kind=kind, repeat=repeat, tool=tool, setup=setup)
        for kind, repeat in pairs
        for tool in tools
    ]


def expected_s(trials: Iterable[Trial], results: Iterable[Result]) -> float:
    """The expected time of trials: the median of the tool so far, or else ``Tool.expected_s``."""
    took = defaultdict[str, list[float]](list)
    for result in results:
        took[result.trial.tool].append(result.wall_s)
    return sum(
        median(took[it.tool]) if it.tool in took else TOOLS[it.tool].expected_s(it.setup)
        for it in trials
    )


@cache
def environments(pair: Pair) -> tuple[Environment, Environment]:
    """Builds the virtualenvs of both revisions, as compare.sh does. Raises ``HarnessError``."""
    worker = worker_file.read(pair.worker)
    revisions = f"a={pair.baseline}", f"b={pair.candidate}"
    valid = validate(
        Request(revisions=revisions, worker=worker, argv=()), Log(Console(stderr=True), quiet=True)
    )
    made = EnvironmentBuilder(engine=valid.engine, cache=valid.cache).build_all(valid.specs)
    usable = [it for it in made.values() if isinstance(it, Environment)]
    for error in made.values():
        if isinstance(error, HarnessError):
            raise error
    return usable[0], usable[1]


@contextmanager
def prepared(pair: Pair, setup: Setup) -> Iterator[Workers]:
    """Starts the services of a pair in a temporary folder. Raises ``HarnessError``."""
    with TemporaryDirectory() as name:
        folder, path = Path(name), pair.worker
        for needed in worker_file.read(path).files:
            shutil.copy(path.parent / needed, folder)
        if pair.equal_kind == EQUAL:
            path = folder / path.name
            # The worker file gets the window of the other tools.
            path.write_text(pair.worker.read_text().replace("= 10", f"= {setup.window_s:g}"))
        worker = worker_file.read(path)
        both = environments(pair)
        values = {key: str(value) for key, value in worker.parameters.items()}
        with services.running(
            services_of(worker, worker.parameters, both[0].python), folder, Cache()
        ) as running:
            for service, config in running.configs.items():
                values[f"{service}.port"] = str(config.port)
            commands = []
            for revision, it in zip(pair[1:3], both, strict=True):
                site = {"python": str(it.python), "port": str(free_port()), "revision": revision}
                program, *arguments = filled(worker.command, {**values, **site})
                programs = f"{it.python.parent}:{os.environ['PATH']}"
                commands.append([shutil.which(program, path=programs) or program, *arguments])
            revisions = f"a={pair.baseline}", f"b={pair.candidate}"
            yield Workers(
                baseline=commands[0], candidate=commands[1], folder=folder, setup=setup,
                gate=[*revisions, "--worker", str(path), *pair.options],
            )  # fmt: skip


def measured(trial: Trial) -> Result:
    """Carries out a trial. Raises ``HarnessError`` if its workers are not available."""
    pair = {**KINDS, **EQUAL_PAIRS}[trial.kind]
    with prepared(pair, trial.setup) as workers:
        begun = time.monotonic()
        score, detail = TOOLS[trial.tool].measure(workers)
        wall_s = time.monotonic() - begun
    return Result(trial=trial, score=score, detail=detail, wall_s=wall_s)


def read_results(path: Path) -> list[Result]:
    """Reads the results of a file, without incomplete lines."""
    results = []
    for line in path.read_text().splitlines() if path.exists() else ():
        with suppress(msgspec.DecodeError):
            results.append(msgspec.json.decode(line, type=Result))
    return results


def threshold(tool: Tool, equal: Iterable[float]) -> float:
    """The score above which a pair counts as a regression; infinite without equal pairs.

    At most 5 % of the scores of ``equal`` pairs are above it.
    """
    scores = sorted(equal, reverse=True)
    if not tool.is_calibrated:
        return tool.least
    if not scores:
        return math.inf
    return max(tool.least, scores[int(MOST_FALSE * len(scores))])


class Table:
    """The table of the regressions that each tool found, by kind."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = list(results)
        self.tools = [tool for tool in TOOLS if self._of(tool)]

    def _of(self, tool: str, kind: str | None = None) -> list[Result]:
        """The results of a tool, for one kind or for all."""
        return [
            result
            for result in self._results
            if result.trial.tool == tool and kind in (None, result.trial.kind)
        ]

    def limit(self, tool: str, equal_kind: str) -> float:
        return threshold(TOOLS[tool], [result.score for result in self._of(tool, equal_kind)])

    def above(self, tool: str, kind: str) -> tuple[int, int]:
        """The number of pairs of a kind that a tool calls regressions, and the number of all."""
        limit = self.limit(tool, KINDS[kind].equal_kind if kind in KINDS else kind)
        results = self._of(tool, kind)
        return sum(result.score > limit for result in results), len(results)

    def seconds(self, tool: str, kind: str | None = None) -> str:
        return f"{median(result.wall_s for result in self._of(tool, kind)):.0f}"

    def rows(self) -> list[list[str]]:
        """The cells: kinds, false alarms with thresholds, and seconds."""

        def cells(kind: str) -> list[str]:
            return ["{} of {}".format(*self.above(tool, kind)) for tool in self.tools]

        kinds = {result.trial.kind for result in self._results}
        rows = [["found", *self.tools]]
        rows += [[kind, *cells(kind)] for kind in KINDS if kind in kinds]
        for kind in EQUAL_PAIRS:
            if kind in kinds:
                rows.append([f"false alarms, {kind}", *cells(kind)])
                limits = (f"> {self.limit(tool, kind):.3g}" for tool in self.tools)
                rows.append(["  score of a regression", *limits])
        return [*rows, ["median seconds", *map(self.seconds, self.tools)]]

    def rivals(self) -> list[str]:
        """Sentences on tools that find a kind at least as often as waitbench."""
        sentences = []
        for kind in KINDS:
            ours, ours_of = self.above(OURS, kind)
            for tool in self.tools:
                theirs, of = self.above(tool, kind)
                if tool != OURS and theirs and ours_of and theirs * ours_of >= ours * of:
                    sentences.append(
                        f"{kind}: {tool} finds {theirs} of {of} in {self.seconds(tool, kind)} s, "
                        f"{OURS} {ours} of {ours_of} in {self.seconds(OURS, kind)} s"
                    )
        return sentences

    def __str__(self) -> str:
        rows = (row[0].ljust(24) + "".join(map("{:>13}".format, row[1:])) for row in self.rows())
        return "\n".join([*rows, "", *self.rivals()])


@contextmanager
def noise() -> Iterator[None]:
    """Runs another program that uses a fifth of a core."""
    process = subprocess.Popen([sys.executable, "-c", NOISE])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--found", type=int, default=10, metavar="N", help="repeats of each kind")
    parser.add_argument("--equal", type=int, default=20, metavar="N", help="equal pairs")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--window", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of either worker")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no trial after that")
    parser.add_argument("--noise", action="store_true", help="beside a fifth of a core in bursts")
    given = parser.parse_args()
    setup = Setup(window_s=given.window, runs=given.runs, noise=given.noise)
    end = time.monotonic() + 60 * given.minutes
    peer_tools.install()
    tools = [tool for tool in given.tools if peer_tools.is_available(tool)]
    results = [it for it in read_results(given.output) if it.trial.setup == setup]
    planned = schedule(given.kinds, tools, given.found, given.equal, setup)
    made, unavailable = {result.trial for result in results}, set[str]()
    left = [trial for trial in planned if trial not in made]
    print(f"{len(left)} trials, about {expected_s(left, results) / 60:.0f} minutes", flush=True)
    with ExitStack() as stack, given.output.open("ab") as output:
        if given.noise:
            stack.enter_context(noise())
        for trial in left:
            if time.monotonic() > end:
                break
            if trial.kind in unavailable:
                continue
            try:
                results.append(measured(trial))
            except HarnessError as error:
                unavailable.add(trial.kind)
                print(f"{trial.kind} is not available here: {error}", flush=True)
                continue
            output.write(msgspec.json.encode(results[-1]) + b"\n")
            output.flush()
            print(results[-1], flush=True)
    print(f"\n$ {join(sys.argv)}")
    commit = peer_tools.git(ROOT, "rev-parse", "--short", "HEAD")
    print(f"{os.cpu_count()} cores, {platform.platform()}, commit {commit}, {setup}")
    for tool in set(given.tools) - set(tools):
        print(f"{tool} is not allowed here")
    print(Table(results))


if __name__ == "__main__":
    main()
