"""Compares two idle workers by each tool of benchmarks/peers.py, as the tool's documents advise."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import NamedTuple

import psutil
from scipy import stats

from waitbench.execution.hyperfine import locate
from waitbench.system.paths import ROOT, Cache

PAIRS = ROOT / "benchmarks" / "pairs"
OURS = "waitbench"
MOST_FALSE = 0.05
SETTLE_S = 1.0
ENDED = 124
"""The exit code of ``timeout`` if it ended the command. With any other, the worker ended early."""
TOOLS_FOLDER = ROOT / ".bench" / "peers"
PINS = ("asv==0.6.6", "psutil==7.2.2", "pyperf==2.11.0", "virtualenv==21.15.11")
_COPY = 'import shutil, sys; shutil.copy(sys.argv[1] + "/worker.json", sys.argv[2])'
ASV_SETTINGS = {
    "version": 1, "project": "idle", "repo": ".", "branches": ["main"],
    "environment_type": "virtualenv", "matrix": {"req": {"psutil": ["7.2.2"]}},
    "build_command": [], "uninstall_command": [],
    "install_command": [f"python -c '{_COPY}' {{build_dir}} {{env_dir}}"],
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The settings that all trials of a session share."""

    window_s: float
    runs: int
    """The runs of each worker, by tools that repeat runs."""
    noise: bool


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The commands of two workers, and the folder with their files."""

    baseline: list[str]
    candidate: list[str]
    folder: Path
    setup: Setup
    gate: list[str]
    """The arguments of compare.sh that compare the same workers."""

    @property
    def bounded(self) -> tuple[list[str], list[str]]:
        """Both commands, ended by ``timeout`` after the window."""
        timeout = ["timeout", str(self.setup.window_s)]
        return [*timeout, *self.baseline], [*timeout, *self.candidate]


class Evidence(NamedTuple):
    """The result of a tool: the higher the score, the surer is a regression."""

    score: float
    detail: str


class Tool(NamedTuple):
    """A tool that looks for a regression."""

    measure: Callable[[Workers], Evidence]
    least: float
    """The lowest threshold."""
    expected_s: Callable[[Setup], float]
    """The expected time of a trial."""
    is_calibrated: bool = True
    """Whether pairs of equal workers set the threshold."""


def by_hyperfine(workers: Workers) -> Evidence:
    """User and system time of alternating runs, ended with the window, by Welch's test."""
    export = workers.folder / "hyperfine.json"
    program = locate(Cache(), lambda text: print(text, file=sys.stderr)).path
    # hyperfine exports the user and system time of a run only if it makes a single run.
    options = ("--runs", "1", "--shell", "none", "--ignore-failure", "--style", "none")
    before, after = list[float](), list[float]()
    for _ in range(workers.setup.runs):
        commands = map(join, workers.bounded)
        run([program, *options, "--export-json", export, *commands], workers.folder)
        results = json.loads(export.read_text())["results"]
        for values, result in zip((before, after), results, strict=True):
            if result["exit_codes"] != [ENDED]:
                sys.exit(f"{result['command']} ended too early: {result['exit_codes']}")
            values.append(result["user"] + result["system"])
    test = stats.ttest_ind(after, before, equal_var=False, alternative="greater")
    return Evidence(certainty(test.pvalue), change(sum(before), sum(after)))


def by_perf(workers: Workers) -> Evidence:
    """Task-clock of runs that end with the window, by ``perf stat -r`` and Welch's test."""
    n, sides = workers.setup.runs, []
    for command in workers.bounded:
        options = ("-r", str(n), "-x", ",", "-e", "task-clock", "--")
        done = run(["perf", "stat", *options, *command], workers.folder, codes={ENDED})
        sides.append(perf_mean(done.stderr))
    (before, before_error), (after, after_error) = sides
    test = stats.ttest_ind_from_stats(
        after, after_error * n**0.5, n, before, before_error * n**0.5, n,
        equal_var=False, alternative="greater",
    )  # fmt: skip
    return Evidence(certainty(test.pvalue), change(before, after))


def by_pyperf(workers: Workers) -> Evidence:
    """CPU of subprocesses, by ``bench_time_func`` with a value a process, and ``compare_to``."""
    outputs = [workers.folder / "before.json", workers.folder / "after.json"]
    options = ("-p", str(workers.setup.runs), "-n", "1", "-w", "0", "-l", "1", "--quiet")
    for output, command in zip(outputs, workers.bounded, strict=True):
        run(
            ["python", PAIRS / "pyperf_idle.py", *options, "-o", output,
             "--inherit-environ", "IDLE_COMMAND"],
            workers.folder, IDLE_COMMAND=json.dumps(command),
        )  # fmt: skip
    compared = run(["python", "-m", "pyperf", "compare_to", *outputs], workers.folder).stdout
    return Evidence(pyperf_ratio(compared), " ".join(compared.split()))


def by_asv(workers: Workers) -> Evidence:
    """CPU tracked at two commits, by the ratio of ``asv continuous``."""
    project, commits = TOOLS_FOLDER / "asv", []
    for command in (workers.baseline, workers.candidate):
        facts = {"folder": str(workers.folder), "window_s": workers.setup.window_s}
        (project / "worker.json").write_text(json.dumps({"command": command, **facts}))
        git(project, "add", "worker.json")
        git(project, "commit", "--quiet", "--allow-empty", "--message", "a worker")
        commits.append(git(project, "rev-parse", "HEAD"))
    options = ("--no-only-changed", "--show-stderr")
    done = run(
        ["asv", "continuous", *commits, *options], project, codes={0, 1}, HOME=str(project)
    )  # fmt: skip
    evidence = asv_evidence(done.stdout)
    return evidence or sys.exit(f"asv has no result:\n{done.stdout}{done.stderr}")


def by_cpu_percent(workers: Workers) -> Evidence:
    """``cpu_percent()`` of the candidate in one window, as in a test that asserts a limit."""
    silent = subprocess.DEVNULL
    process = psutil.Popen(workers.candidate, cwd=workers.folder, stdout=silent, stderr=silent)
    try:
        time.sleep(SETTLE_S)
        percent = process.cpu_percent(interval=workers.setup.window_s)
    finally:
        process.terminate()
        process.wait()
    return Evidence(percent, f"{percent:.1f} %")


def by_waitbench(workers: Workers) -> Evidence:
    """The gate of waitbench: a score of 1 for exit code 1, else 0."""
    options = ("--gate", "--no-plot", "--quiet", "--results", workers.folder / "results")
    done = run(["./compare.sh", *workers.gate, *options], ROOT, codes={0, 1, 3})
    return Evidence(float(done.returncode == 1), " ".join(done.stdout.split())[:200])


def certainty(p: float) -> float:
    """−log10 of a p-value; 0 if the p-value is not defined."""
    return 0.0 if math.isnan(p) else -math.log10(max(p, 1e-300))


def change(before: float, after: float) -> str:
    return f"× {after / before:.3f}" if before else "× ?"


def perf_mean(text: str) -> tuple[float, float]:
    """The mean of task-clock and its standard error in ms, as ``perf stat -r -x ,`` prints."""
    (line,) = re.findall(r"^.*,task-clock,.*$", text, re.MULTILINE)
    mean, _, _, percent, *_ = line.split(",")
    return float(mean), float(mean) * float(percent.rstrip("%")) / 100


def pyperf_ratio(text: str) -> float:
    """The factor by which ``compare_to`` calls a benchmark slower; 1 if it does not."""
    slower = re.search(r"([\d.]+)x slower", text)
    return float(slower[1]) if slower else 1.0


def asv_evidence(text: str) -> Evidence | None:
    """The ratio of the benchmark, and its row, from the output of ``asv continuous``.

    If the baseline is 0, the row has a sign instead of a ratio: "+" counts as infinite, else 1.
    """
    row = "".join(re.findall(r"^\|.*track_idle.*$", text, re.MULTILINE))
    if not row:
        return None
    _, sign, _, _, ratio, *_ = (cell.strip(" ~") for cell in row.split("|"))
    if not re.fullmatch(r"[\d.]+", ratio):
        ratio = "inf" if sign == "+" else "1"
    return Evidence(float(ratio), " ".join(row.split()))


def _repeated_s(setup: Setup) -> float:
    return 2 * setup.runs * (setup.window_s + 0.2)


SIGNIFICANT = certainty(MOST_FALSE)
TOOLS = {
    "hyperfine": Tool(by_hyperfine, SIGNIFICANT, _repeated_s),
    "perf stat": Tool(by_perf, SIGNIFICANT, _repeated_s),
    "pyperf": Tool(by_pyperf, 1.0, _repeated_s),
    "asv": Tool(by_asv, 1.0, lambda setup: 2 * setup.window_s + 8),
    "cpu_percent": Tool(by_cpu_percent, 0.0, lambda setup: setup.window_s + SETTLE_S),
    OURS: Tool(by_waitbench, 0.5, lambda setup: 3 * setup.window_s + 20, is_calibrated=False),
}


def install() -> None:
    """Creates the virtualenv of the tools, and the project of asv, if they are out of date."""
    venv, stamp, project = (TOOLS_FOLDER / name for name in ("venv", "installed.json", "asv"))
    wanted = json.dumps([PINS, ASV_SETTINGS, (PAIRS / "asv_idle.py").read_text()])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(TOOLS_FOLDER, ignore_errors=True)
    (project / "benchmarks").mkdir(parents=True)
    run([sys.executable, "-m", "venv", venv], ROOT)
    run([venv / "bin" / "python", "-m", "pip", "install", "--quiet", *PINS], ROOT)
    (project / "benchmarks" / "__init__.py").touch()
    shutil.copy(PAIRS / "asv_idle.py", project / "benchmarks")
    (project / "asv.conf.json").write_text(json.dumps(ASV_SETTINGS))
    git(project, "init", "--quiet", "--initial-branch", "main")
    run(["asv", "machine", "--yes"], project, HOME=str(project))
    stamp.write_text(wanted)


def is_available(tool: str) -> bool:
    """Whether this machine has a tool, and lets this user run it."""
    if tool != "perf stat":
        return True
    command = ("perf", "stat", "-e", "task-clock", "true")
    return bool(shutil.which("perf")) and subprocess.call(command, stderr=-3) == 0


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=peers", "-c", "user.email=peers@localhost")
    return run(["git", *identity, *arguments], folder).stdout.strip()


def run(
    command: Sequence[str | Path], folder: Path, codes: Collection[int] = (0,), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command. Exits this program if the exit code is not in ``codes``."""
    path = f"{TOOLS_FOLDER / 'venv' / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode not in codes:
        output = f"{done.stdout}{done.stderr}"
        sys.exit(f"{join(map(str, command))}: exit code {done.returncode}\n{output}")
    return done
