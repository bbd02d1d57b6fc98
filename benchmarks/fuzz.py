"""Gives the command line hostile arguments, damaged results and damaged worker files.

    python -m benchmarks.fuzz arguments --count 5000 --seed 1

Each trial is a forked process in its own folder, which can build, measure or download nothing. A
trial is reported if it prints a traceback or an "unexpected error", exits with another code than
``CODES``, does not end, leaves a process behind, or changes a file outside of its folder.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import typer

from benchmarks.common import command_line
from waitbench import commands, features
from waitbench.model.errors import HarnessError
from waitbench.system import files, paths, proc, processes

_LIBRARIES = ("jinja2", "numpy", "rich.progress", "scipy.stats", "waitbench.reporting.html")
WITHIN_S = 60.0
CODES = (0, 2, 3, 130)
"""Exit codes of trials. 1 means a regression, and trials measure nothing."""
TEXTS = (
    "", " ", "-", "--", "-1", "0", "1", "2", "0.5", "1e999", "nan", "inf", "9" * 5000, "x" * 300,
    "a\nb", "\x1b[2J", "\udcff", "ä" * 120, "../../precious", "/", ".", "/dev/full", "/dev/null",
    "~nobody/x", "{python}", "$HOME", "%n", "@", "A=B", "=", ":", "::", "cpu:10%", "cpu:-1%",
    "cpu:1e9%,1s", "idle:0.5%", "idle:0%", "partitions=1", "partitions=1:8", "partitions=1e99",
    "1/2", "0/0", "9/1", "tcp://h:1", "v0.16.0", "v0.16.0..v0.16.1", "a=v0.16.0", "=v0.16.0",
    "dynamic", "*", "[", "single", "3.11", "results", "worker.toml", "comparison.json", "none",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, -1e308, 10**15, 10**400, "", "x", "\x1b[2J", "../../precious",
    "x" * 5000, "\ud800", [], {}, [[]], {"": 0}, [None], "2026-01-01", "nan",
)  # fmt: skip
TOML = (
    "", "'x'", "''", "1", "-1", "1e400", "nan", "true", "[]", "{}", "['']", "[1]", "{ x = 1 }",
    "'\\u0000'", '"\\u0000"', "'{'", "'{none}'", "'a | b'", "'../../x'", "'" + "9" * 6000 + "'",
    "9" * 6000, "2026-01-01", "'until-exit'", "'['", "[[1]]", "'rq==2.*'", "{ log = '(' }",
    "{ seconds = -1 }", "{ command = '' }", "x" * 500,
)  # fmt: skip


class Trial(NamedTuple):
    """Arguments of the command line, and a function that prepares its folder."""

    arguments: Sequence[str]
    prepare: Callable[[Path], object]


def argument_trials(chance: random.Random) -> Iterator[Trial]:
    """Trials of random options of random commands, with random values."""
    group: Any = typer.main.get_command(commands.make_app())
    while True:
        name = chance.choice([*group.commands, *group.commands, chance.choice(TEXTS)])
        command = group.commands.get(name)
        words = [name]
        options = command.params if command else []
        for option in chance.choices(options, k=chance.randrange(5)) if options else ():
            if option.param_type_name == "option":
                words.append(chance.choice(option.opts))
            if not getattr(option, "is_flag", False):
                words.append(chance.choice(TEXTS))
        words += chance.choices(TEXTS, k=chance.randrange(4))
        yield Trial(words, _with_results)


def result_trials(chance: random.Random) -> Iterator[Trial]:
    """Trials of folders of results in which one value, or some bytes, are damaged."""
    known = (
        ["report", "results"], ["report", "--html", "page.html", "results"],
        ["report", "--markdown", "page.md", "results"],
        *([name, "results", *more] for name in features.COMMANDS for more in ((), ("--json",))),
    )  # fmt: skip
    while True:
        state = chance.getrandbits(64)

        def damage(folder: Path, state: int = state) -> None:
            _with_results(folder)
            _damage_file(folder / "results", random.Random(state))

        yield Trial(chance.choice(known), damage)


def worker_trials(chance: random.Random) -> Iterator[Trial]:
    """Trials of worker files in which lines are changed, doubled or deleted."""
    files = sorted((paths.ROOT / "workers").rglob("*.toml"))
    while True:
        lines = chance.choice(files).read_text().splitlines()
        for _ in range(chance.randrange(1, 4)):
            place = chance.randrange(len(lines))
            key = lines[place].partition("=")[0].rstrip()
            changed = f"{key} = {chance.choice(TOML)}"
            lines[place : place + 1] = chance.choice([[changed], [], [lines[place]] * 2])
            lines = lines or [""]
        text = "\n".join(lines)

        def write(folder: Path, text: str = text) -> None:
            (folder / "worker.toml").write_text(text)

        command = ["compare", "--worker", "worker.toml", "1.0", "2.0", "--gate"]
        yield Trial(
            chance.choice([command, *([it, "worker.toml"] for it in features.COMMANDS)]), write
        )


KINDS = {"arguments": argument_trials, "results": result_trials, "workers": worker_trials}


def _with_results(folder: Path) -> None:
    shutil.copytree(SAMPLE, folder / "results", dirs_exist_ok=True)
    (folder / "worker.toml").write_text("command = 'true'\n")


SAMPLE = next(it.parent for it in sorted(paths.ROOT.glob("docs/samples/*/comparison.json")))


def _damage_file(folder: Path, chance: random.Random) -> None:
    path = chance.choice(
        [it for it in sorted(folder.iterdir()) if it.suffix in (".json", ".jsonl")]
    )
    if chance.random() < 0.2:
        content = bytearray(path.read_bytes())
        place = chance.randrange(len(content))
        content[place : place + chance.randrange(1, 50)] = chance.randbytes(chance.randrange(9))
        path.write_bytes(content)
        return
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    number = chance.randrange(len(lines))
    data = json.loads(lines[number])
    places_in = list(_places(data))
    if places_in:
        holder, key = chance.choice(places_in)
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = chance.choice(VALUES)
    lines[number] = json.dumps(data)
    path.write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _refuse(*_arguments: object, **_options: object) -> NoReturn:
    raise HarnessError("nothing is started in a trial.")


def _run_here(trial: Trial, folder: Path) -> NoReturn:
    """Runs the command line in this process and a folder; its output goes to a file beside that."""
    try:
        os.setsid()
        os.chdir(folder)
        output = os.open(folder.with_suffix(".out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number in (1, 2):
            os.dup2(output, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        processes.start = _refuse
        nowhere = "http://127.0.0.1:9"
        os.environ |= {"http_proxy": nowhere, "https_proxy": nowhere, "COLUMNS": "100"}
        sys.argv = ["waitbench", *trial.arguments]
        code = commands.main()
        sys.stdout.flush()
        os._exit(code)
    except BaseException as error:  # as Python does at the end of a program
        sys.__excepthook__(type(error), error, error.__traceback__)
        os._exit(1)


def _outside(folder: Path) -> list[str]:
    ours = {folder.name, f"{folder.name}.out"}
    names = [it.name for it in sorted(folder.parent.iterdir()) if it.name not in ours]
    return [*names, (folder.parent / "precious").read_text()]


def _children() -> list[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in text.split()]


def run(trial: Trial, folder: Path) -> str:
    """Carries out a trial. Returns a description of the error, or an empty text."""
    folder.mkdir()
    trial.prepare(folder)
    before = _outside(folder)
    pid = os.fork()
    if pid == 0:
        _run_here(trial, folder)
    end, status = time.monotonic() + WITHIN_S, 0
    while not (ended := os.waitpid(pid, os.WNOHANG))[0] and time.monotonic() < end:
        time.sleep(0.005)
    if not ended[0]:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return f"still running after {WITHIN_S:g} s"
    status = os.waitstatus_to_exitcode(ended[1])
    output = folder.with_suffix(".out").read_text("utf-8", "replace")
    if status not in CODES:
        return f"exit code {status}: {output[-300:]!r}"
    if "Traceback (most" in output or "unexpected error" in output:
        return f"{output[-400:]!r}"
    if left := _children():
        for process in left:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        return f"{len(left)} processes are left"
    after = _outside(folder)
    return "" if after == before else f"outside of its folder: {after}"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at the most")
    options = parser.parse_args()
    if "BENCH_HOME" not in os.environ:
        with tempfile.TemporaryDirectory(prefix="fuzz-home-") as home:
            again = [sys.executable, "-m", "benchmarks.fuzz", *sys.argv[1:]]
            sys.exit(subprocess.call(again, env={**os.environ, "BENCH_HOME": home}))
    proc.adopt_orphans()
    for module in (*commands.COMMANDS.values(), *_LIBRARIES):
        import_module(module)  # once, rather than in each trial
    trials, errors = KINDS[options.kind](random.Random(options.seed)), Counter[str]()
    begun, made = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        Path(name, "precious").write_text("precious")
        for number in range(options.count):
            if time.monotonic() - begun > options.seconds:
                break
            folder = Path(name, f"t{number}")
            trial, made = next(trials), made + 1
            if error := run(trial, folder):
                errors[error] += 1
                if errors[error] == 1:
                    print(f"{list(map(str, trial.arguments))}\n    {error}", flush=True)
            folder.with_suffix(".out").unlink()
            files.remove(folder)
    print(f"{options.kind}: {made} trials, {sum(errors.values())} wrong")


if __name__ == "__main__":
    main()
