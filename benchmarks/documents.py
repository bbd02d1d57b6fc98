"""Runs the commands of README and the documents, and writes their exit codes and last lines.

benchmarks/documents.py docs/trials/documents.txt [PATTERN...]

Each command runs in a temporary folder with links to the files of the clone, so that it writes no
file into the clone. ``SHORTENED`` replaces commands that take long, ``TESTED`` names the tests that
run a command, and ``ELSEWHERE`` has the reasons why a command cannot run here. With patterns, which
are parts of commands, only matching commands run; the file keeps the results of all others.
``tests/features/NAME/documents.py`` has the same tables for the commands of a feature.
``tests/benchmarks/test_documents.py`` requires that every command runs, or is in a table.
"""

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 600
LAST_LINES = 16
_VARIABLES = {"COLUMNS": "100", "NO_COLOR": "1"}
_ONE, _BRIEF = "-s partitioned-long-input", "--processes 2 --rounds 2"
_GATE = "tests/real/test_workloads.py::test_the_gate_passes_the_fix"
_VARIANTS = "tests/commands/test_worker_variants.py::test_variants_are_compared_by_what_they_write"
_EXAMPLE = "tests/real/test_worker_examples.py::test_an_example_gives_a_measurement"
_HOW_TO = (
    "tests/real/test_worker_examples.py::"
    "test_the_worker_file_of_the_how_to_is_measured_in_each_of_its_phases"
)
_STUDIES = "tests/real/test_worker_examples.py::test_each_variant_of_a_study_gives_every_metric"


def _of_features(table: str) -> dict[str, Any]:
    """The entries of a table, such as ``SHORTENED``, for the commands of all features."""
    paths = sorted((ROOT / "tests" / "features").glob("*/documents.py"))
    return {name: it for path in paths for name, it in run_path(str(path)).get(table, {}).items()}


SHORTENED: Mapping[str, str] = {
    "./compare.sh v0.16.0 v0.16.1": f"./compare.sh v0.16.0 v0.16.1 {_ONE} {_BRIEF}",
    "./compare.sh --worker workers/queues/rq.toml 2.1.0 2.2.0": (
        "./compare.sh --worker workers/queues/rq.toml 2.1.0 2.2.0 -s rq --rounds 2"
    ),
    "./compare.sh --worker mine.toml before=./worker-1 after=./worker-2": (
        "./compare.sh --worker mine.toml before=./worker-1 after=./worker-2 --rounds 2"
    ),
    "./compare.sh --worker mine.toml before=./worker-1.2 after=./worker-1.3": (
        "./compare.sh --worker mine.toml before=./worker-1.2 after=./worker-1.3 --rounds 2"
    ),
    "./compare.sh --worker flow.toml 0.20.1 0.21.1": (
        "./compare.sh --worker flow.toml 0.20.1 0.21.1 --rounds 2"
    ),
    **_of_features("SHORTENED"),
}
"""Replacements of commands that take long, or that need results of the user."""

TESTED: Mapping[str, str] = {
    "./compare.sh --worker rq.toml 2.2.0 --limit idle:0.5% --limit wakeups:5/s "
    "--limit memory:80MB": ("tests/commands/test_worker_files.py::test_a_limit_of_a_file_fails"),
    "./compare.sh --worker rq.toml 2.2.0": _HOW_TO,
    "./compare.sh --worker rq.toml 2.1.0 2.2.0 --gate": _HOW_TO,
    "./compare.sh --worker flow.toml 0.20.1 0.21.1": (
        "tests/real/test_workloads.py::test_the_worker_file_of_the_document_measures_a_dataflow_of_ones_own"
    ),
    "./compare.sh --worker jobs.toml polls waits": (
        "tests/real/test_worker_examples.py::test_the_worker_of_the_readme_is_whole"
    ),
    "./compare.sh --worker load.toml blocking nonblocking -s large --set calls=200 "
    "--fail-on call-time-p99:10%": _VARIANTS,
    "TEST_EXAMPLES=1 ./test.sh tests/real/test_worker_examples.py": _EXAMPLE,
    "./compare.sh --worker workers/embedding/load.toml direct proxied": _STUDIES,
    "./compare.sh --worker workers/scoring/predict.toml inprocess blocking nonblocking": _STUDIES,
    "./compare.sh --worker workers/paged-output/bench.toml regular batched": _STUDIES,
    **_of_features("TESTED"),
}
"""The test that runs a command, or the same command with made-up revisions."""

ELSEWHERE: Sequence[tuple[str, str, str]] = (
    *((pattern, *it) for pattern, it in _of_features("ELSEWHERE").items()),
    (r"git clone ", "GitHub", "tests/real/test_fresh_clone.py::test_a_fresh_clone_measures_twice"),
    (r"\./compare\.sh main my-branch", "GitHub", _GATE),
    (r"\./compare\.sh v0\.21\.1 ~/src/bytewax", "a checkout of bytewax, and a compiler",
     "tests/real/test_builds.py::test_two_commits_never_share_a_binary"),
    (r"\./compare\.sh --worker workers/engines/", "much to fetch", _EXAMPLE),
    (r"\./compare\.sh --worker workers/kafka/", "Java and a broker", _EXAMPLE),
    (r"(sysctl|mount) ", "changes the kernel's settings",
     "tests/test_action_machine.py::test_the_kernel_may_count_for_the_job_and_is_put_back"),
    (r"echo \$\?", "it prints the exit code of the command before it",
     "tests/real/test_workloads.py::test_the_gate_finds_the_fix_reversed"),
)  # fmt: skip
"""Patterns of commands that need something else, what they need, and a test of the same effect."""

FAILING: Mapping[str, int] = {
    "./compare.sh --worker workers/servers/cheroot.toml 8.6.0 8.5.2 --gate": 1,
    "./compare.sh v0.16.1 v0.16.0 --gate": 1,
}
"""The exit codes of commands that have to fail, because their candidate is worse."""

WORKER_FILE = 'command = "{revision} --port {port}"\nready = { port = true }\n'
FLOW_FILE = """package = "bytewax"
files = ["mine.py"]
command = "{python} -m bytewax.run mine:flow"
window = "until-exit"
"""
WORKER = """#!/usr/bin/env python3
import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[-1])))
while True:
    time.sleep({})
"""
DATAFLOW = """import time

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource

flow = Dataflow("mine")
items = op.input("in", flow, TestingSource(range(100)))
op.output("out", op.map("wait", items, lambda item: time.sleep(0.1)), TestingSink([]))
"""


def documents(root: Path = ROOT) -> list[Path]:
    return [
        root / "README.md",
        *sorted((root / "workers").glob("*.md")),
        *sorted((root / "docs").glob("*.md")),
    ]


def commands(document: Path) -> list[str]:
    """The commands of a document. In a block with prompts, lines without a prompt are output."""
    lines_of_blocks = []
    blocks = re.findall(r"^```console\n(.*?)^```", document.read_text("utf-8"), re.M | re.S)
    for block in blocks:
        lines = re.sub(r"\s*\\\n\s*", " ", block).splitlines()
        if lines[0].startswith("$ "):
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        lines_of_blocks += [re.sub(r"(^|\s+)# .*", "", line).strip() for line in lines]
    return [command for command in lines_of_blocks if command]


def every_command() -> dict[str, list[str]]:
    """The distinct commands, each with the documents that have it."""
    by_command: dict[str, list[str]] = {}
    for document in documents():
        for command in commands(document):
            by_command.setdefault(command, []).append(str(document.relative_to(ROOT)))
    return by_command


def why_not_run(command: str) -> tuple[str, str] | None:
    """The reason why a command is not run here, and its test; ``None`` if the command is run."""
    if command in TESTED:
        return "", TESTED[command]
    if command in SHORTENED:
        return None
    for pattern, reason, test in ELSEWHERE:
        if re.match(pattern, command):
            return reason, test
    return None


def fill(folder: Path) -> None:
    """Fills a folder with links to the clone, and with files that readers of documents write."""
    for path in ROOT.iterdir():
        if path.name != ".git":
            (folder / path.name).symlink_to(path)
    (folder / "mine.toml").write_text(WORKER_FILE)
    (folder / "mine.py").write_text(DATAFLOW)
    (folder / "flow.toml").write_text(FLOW_FILE)
    for name, pause in (("1", 1), ("2", 0.1), ("1.2", 1), ("1.3", 0.1)):
        program = folder / f"worker-{name}"
        program.write_text(WORKER.format(pause))
        program.chmod(0o755)


def run(command: str, folder: Path) -> tuple[int, float, list[str]]:
    """Runs a command. Returns its exit code, its seconds, and the last lines of its output."""
    started = time.monotonic()
    done = subprocess.run(
        ["timeout", "--kill-after", "20", str(LIMIT_S), "bash", "-c", command],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        text=True, check=False, env={**os.environ, **_VARIABLES},
    )  # fmt: skip
    lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    last = [line.replace(str(folder), ".").replace(str(ROOT), ".") for line in lines[-LAST_LINES:]]
    return done.returncode, time.monotonic() - started, last


def parts_of(text: str) -> dict[str, str]:
    """The part of each command that was run, from a file that this program wrote."""
    parts = re.split(r"^\$ ", text.partition("\n# Not run")[0], flags=re.M)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip("\n") for part in parts}


def exit_code_in(part: str) -> int:
    """The exit code in the part of a command; −1 if there is none."""
    match = re.search(r"^\[exit (\d+), \d+ s\]", part, re.M)
    return int(match[1]) if match else -1


def render(parts: Mapping[str, str]) -> Iterator[str]:
    """The lines of the file, from the part of each command that was run."""
    yield "benchmarks/documents.py docs/trials/documents.txt"
    yield f"{os.cpu_count()} cores, Linux {'.'.join(platform.release().split('.')[:2])}"
    for command, where in every_command().items():
        if command in parts:
            yield f"\n$ {command}\n{parts[command]}\n({', '.join(where)})"
    yield "\n# Not run by this program"
    for command, where in every_command().items():
        not_run = why_not_run(command)
        if not_run is not None:
            reason, test = not_run
            needs = f"needs: {reason}; " if reason else ""
            yield f"\n{command}\n    {needs}tested by {test}\n    ({', '.join(where)})"


def is_selected(command: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern selects a command: as the whole command, or as a part of it."""
    whole = set(patterns) & every_command().keys()
    return command in whole or any(part in command for part in patterns if part not in whole)


def main(arguments: Sequence[str]) -> int:
    target, patterns = Path(arguments[0]), arguments[1:]
    parts = parts_of(target.read_text("utf-8")) if patterns and target.exists() else {}
    parts = {name: re.sub(r"\n\(.*\)$", "", part) for name, part in parts.items()}
    wrong = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder)
        for command in every_command():
            if why_not_run(command) or (patterns and not is_selected(command, patterns)):
                continue
            called = SHORTENED.get(command, command)
            print(command, flush=True)
            code, seconds, lines = run(called, folder)
            head = f"as: {called}\n" if called != command else ""
            ending = f"[exit {code}, {seconds:.0f} s]"
            parts[command] = "\n".join([head + ending, *(f"  {line}" for line in lines)])
            print(f"    {ending}", flush=True)
            wrong += [command] if code != FAILING.get(command, 0) else []
            target.write_text("\n".join(render(parts)) + "\n", "utf-8")
    print(f"{len(wrong)} have another exit code than expected", *wrong, sep="\n  ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
