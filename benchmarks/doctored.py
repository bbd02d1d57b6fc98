r"""How often the gate finds a real rise of system time: bytewax doctored to make system calls.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --rise 0.25 --system 0.5 --duration 5 \
        --processes 8 --trials 20 -- --scenario partitioned-idle --full --fail-on system:10%

WHEEL is a real bytewax wheel, such as one in .bench/wheels/. In a copy of it, every process has a
thread that makes system calls, for ``--rise`` of the system time that a run of the original uses:
``--system`` seconds in ``--duration`` seconds over ``--processes``, as measured before. Each trial
is one ``compare.sh base=WHEEL new=COPY`` with what follows ``--``, its results in a temporary
folder. Kept output: docs/trials/doctored-25.txt (``--rise 0.25``) and doctored-100.txt
(``--rise 1.0``), whose other options are in docs/statistics.md.
"""

import argparse
import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import command_line
from waitbench.system.places import ROOT

RUN_MODULE = "bytewax/run.py"
GUARD = 'if __name__ == "__main__":'
THREAD = '''

def _make_system_calls(share):
    """Uses ``share`` CPU seconds a second, nearly all in the kernel: it fills a buffer."""
    import os
    import time

    zeros = os.open("/dev/zero", os.O_RDONLY)
    begun = time.monotonic()
    while True:
        while time.thread_time() < share * (time.monotonic() - begun):
            os.read(zeros, 1 << 16)
        time.sleep(0.01)


import threading

threading.Thread(target=_make_system_calls, args=({share!r},), daemon=True).start()


'''


def main() -> None:
    own, passed_on = _split(sys.argv[1:])
    options = _parser().parse_args(own)
    if not any(argument.startswith("--fail-on") for argument in passed_on):
        sys.exit("Name a criterion for the gate behind --, such as: -- --fail-on system:10%")
    share = options.rise * options.system / options.duration / options.processes
    found = rounds = 0
    with TemporaryDirectory() as name:
        copy = doctor(options.wheel, Path(name), share)
        command = [
            str(ROOT / "compare.sh"), f"base={options.wheel}", f"new={copy}",
            "--processes", str(options.processes), "--no-plot", "--quiet", *passed_on,
        ]  # fmt: skip
        for number in range(1, options.trials + 1):
            verdict = gate(command, Path(name) / f"trial-{number:03d}")
            judged = verdict["judgements"][0]
            found += not verdict["passed"]
            rounds += judged["rounds"]
            print(
                f"trial {number}: {judged['verdict']} ×{judged['ratio']:.3f} "
                f"after {judged['rounds']} rounds",
                flush=True,
            )
    print(f"found {found} of {options.trials}, {rounds / options.trials:.1f} rounds on average")


def doctor(wheel: Path, folder: Path, share: float) -> Path:
    """Writes a copy of a wheel, whose package starts the thread, into a folder; returns its path.

    Equal shares give equal files, so that the environment of the copy is made only once.
    """
    copy = folder / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(copy, "w") as output:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == RUN_MODULE:
                # After the imports and before the program starts: the guard is the last block.
                head, guard, tail = content.decode().partition(GUARD)
                content = (head + THREAD.format(share=share) + guard + tail).encode()
            output.writestr(member, content)
    return copy


def gate(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Has one comparison made, its results in ``folder``; returns what ``verdict.json`` holds."""
    done = subprocess.run(
        [*command, "--results", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    verdict: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return verdict


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before ``--``, and what stands behind it."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:end], arguments[end + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = command_line(__doc__)
    parser.add_argument("wheel", type=Path, metavar="WHEEL")
    parser.add_argument("--rise", type=float, required=True, help="a share, such as 0.25")
    parser.add_argument("--system", type=float, required=True, help="seconds")
    parser.add_argument("--duration", type=float, required=True, help="seconds")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--trials", type=int, default=20)
    return parser


if __name__ == "__main__":
    main()
