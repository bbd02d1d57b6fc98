"""How often --why names first what a doctored bytewax does besides: a thread in ``needle``.

    .bench/venv/bin/python benchmarks/needles.py WHEEL [--kind wakes] [--trials 20]
        [--results FOLDER]

WHEEL is a real bytewax wheel. Copies are made whose every process has one thread more: of kind
``wakes`` it wakes up 100 times a second in a function called ``needle``; of kind ``works`` it calls
``needle``, which uses a CPU for 5 ms, and sleeps elsewhere for 95 ms. Each trial is one
``./compare.sh base=WHEEL wakes=COPY works=COPY --why --json`` of one round; a kind is found if
``needle`` is the innermost function of the first line. Kept output: docs/trials/needles.txt.
"""

import json
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.common import add_results, command_line, results_folder
from waitbench.system.places import ROOT

PACKAGE, MODULE = "bytewax/__init__.py", "bytewax/doctored_needle.py"
BEGIN = "from bytewax import doctored_needle\n\n"
WAKES = """
def needle():
    while True:
        time.sleep(0.01)

target = needle
"""
WORKS = """
def needle():
    end = time.thread_time() + 0.005
    while time.thread_time() < end:
        pass

def target():
    while True:
        needle()
        time.sleep(0.095)
"""
TEXT = """import sys, threading, time
{}
if any(one in sys.orig_argv for one in ("bytewax.run", "bytewax.testing")):
    threading.Thread(target=target, daemon=True).start()
"""
KINDS = {"wakes": WAKES, "works": WORKS}
OPTIONS = ("-s", "partitioned-long-input", "--set", "items_per_partition=2", "--rounds", "1")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this one")
    parser.add_argument("--trials", type=int, default=20)
    add_results(parser)
    options = parser.parse_args()
    kinds = [options.kind] if options.kind else sorted(KINDS)
    with results_folder(options.results) as results:
        copies = {kind: doctor(options.wheel, results / kind, kind) for kind in kinds}
        found = dict.fromkeys(kinds, 0)
        for number in range(1, options.trials + 1):
            lines = first_lines(options.wheel, copies, results / f"trial-{number}")
            for kind, first in lines.items():
                named = bool(first["stack"]) and first["stack"][-1]["name"] == "needle"
                found[kind] += named
                print(f"trial {number}, {kind}: {describe(first, named=named)}", flush=True)
        for kind in kinds:
            print(f"{kind}: {found[kind]} of {options.trials}", flush=True)


def describe(first: Mapping[str, Any], *, named: bool) -> str:
    """Whether the first line is the thread's, and what it says."""
    (wakeups, wakeups_now), (cpu, cpu_now) = first["wakeups_per_s"], first["cpu_share"]
    stack = " > ".join(one["name"] for one in first["stack"])
    return (
        f"{'found' if named else 'NOT FOUND'}: {first['thread']}, {stack}: "
        f"{wakeups:.1f} -> {wakeups_now:.1f} wake-ups/s, {cpu:.2%} -> {cpu_now:.2%} of a CPU"
    )


def doctor(wheel: Path, folder: Path, kind: str) -> Path:
    """Writes a copy of a wheel with the thread into a folder; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(copy, "w") as output:
        like = source.infolist()[0]
        package = source.read(PACKAGE).decode() if PACKAGE in source.namelist() else ""
        for name, text in ((PACKAGE, BEGIN + package), (MODULE, TEXT.format(KINDS[kind]))):
            added = zipfile.ZipInfo(name, like.date_time)
            added.external_attr = 0o644 << 16
            output.writestr(added, text)
        for member in source.infolist():
            if member.filename != PACKAGE:
                output.writestr(member, source.read(member))
    return copy


def first_lines(wheel: Path, copies: Mapping[str, Path], folder: Path) -> dict[str, Any]:
    """The first line of each kind in one comparison. Exits if there is none."""
    revisions = [f"base={wheel.absolute()}", *(f"{kind}={copy}" for kind, copy in copies.items())]
    words = ["./compare.sh", *revisions, *OPTIONS, "--why", "--json", "--no-plot"]
    words += ["--results", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    (one,) = json.loads(done.stdout)
    return {kind: lines[0] for kind, lines in zip(copies, one["why"]["lines"], strict=True)}


if __name__ == "__main__":
    main()
