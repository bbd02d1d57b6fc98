"""How often the check finds a real rise of system time: bytewax doctored to make system calls at a set rate.

    .bench/venv/bin/python benchmarks/doctored.py WHEEL --rise 0.25 --system 0.5 --duration 5 --processes 8 --trials 20 \
        -- --scenario partitioned-idle --full --fail-on system:10%

WHEEL is a real bytewax wheel, such as one in .bench/wheels/. Its copy starts a thread in every process that reads /dev/zero until it has
used the given share of the system time that a run of the original uses (``--system`` seconds in ``--duration`` seconds over
``--processes``, as measured before). Each trial is one ``compare.sh base=WHEEL new=COPY``; what follows ``--`` is passed on. The folder
``--results`` keeps them all.
"""

import argparse
import json
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

THREAD = '''

def _make_system_calls(share):
    """Uses ``share`` CPU seconds a second, nearly all of it system time: the kernel fills a buffer with zeros."""
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


def doctor(wheel: Path, target: Path, share: float) -> Path:
    """A copy of a wheel whose package starts the thread when it is imported."""
    target.mkdir(parents=True, exist_ok=True)
    copy = target / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as output:
        names = source.namelist()
        for name in names:
            content = source.read(name)
            if name == "bytewax/run.py":
                # At the end of the imports' way, and before the program starts: the guard of __main__ is the last block.
                head, guard, tail = content.decode().partition('if __name__ == "__main__":')
                content = (head + THREAD.format(share=share) + "\n\n" + guard + tail).encode()
            output.writestr(name, content)
    return copy


def main() -> None:
    own, passed_on = (sys.argv[1:], [])
    if "--" in own:
        passed_on = own[own.index("--") + 1 :]
        own = own[: own.index("--")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--rise", type=float, required=True)
    parser.add_argument("--system", type=float, required=True)
    parser.add_argument("--duration", type=float, required=True)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--results", type=Path, default=ROOT / ".bench" / "doctored")
    options = parser.parse_args(own)
    share = options.rise * options.system / options.duration / options.processes
    copy = doctor(options.wheel, options.results / "wheel", share)
    found = rounds = 0
    for number in range(1, options.trials + 1):
        folder = options.results / f"trial-{number:03d}"
        command = [
            str(ROOT / "compare.sh"), f"base={options.wheel}", f"new={copy}", "--processes", str(options.processes),
            "--results", str(folder), "--no-plot", "--quiet", *passed_on,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(done.stdout + done.stderr)
        verdict = json.loads((folder / "verdict.json").read_text())
        judged = verdict["judgements"][0]
        found += not verdict["passed"]
        rounds += judged["rounds"]
        print(f"trial {number}: {judged['verdict']} ×{judged['ratio']:.3f} after {judged['rounds']} rounds", flush=True)
    print(f"found {found} of {options.trials}, {rounds / options.trials:.1f} rounds on average")


if __name__ == "__main__":
    main()
