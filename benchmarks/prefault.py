r"""How much system time processes need for their memory, with and without prefaulting.

    .bench/venv/bin/python benchmarks/prefault.py --processes 36 --mib 70 --pause 25 --rounds 3

After a pause, in which a hypervisor may take free pages, processes that use so much memory start
one after another, and stay until all have it. Each round measures them once without prefaulting,
and once after prefaulting of twice as much as all of them use.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.common import command_line
from waitbench.execution.measure import Measurer

USES = """
import mmap, resource, sys
memory = mmap.mmap(-1, int(sys.argv[1]) << 20, mmap.MAP_PRIVATE)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(0, len(memory), mmap.PAGESIZE):
    memory[page] = 1
print(resource.getrusage(resource.RUSAGE_SELF).ru_stime, flush=True)
sys.stdin.read()
"""


def starts(processes: int, mib: int) -> list[float]:
    """Returns the system time of each process in s."""
    used_s = []
    command = [sys.executable, "-c", USES, str(mib)]
    with ExitStack() as stack:
        for _ in range(processes):
            process = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            assert process.stdout is not None
            used_s.append(float(process.stdout.readline()))
    return used_s


def main(arguments: Sequence[str]) -> None:
    parser = command_line(__doc__)
    parser.add_argument("--processes", type=int, default=36)
    parser.add_argument("--mib", type=int, default=70)
    parser.add_argument("--pause", type=float, default=25.0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    for size in (0, 2 * given.processes * given.mib << 20) * given.rounds:
        time.sleep(given.pause)
        begun = time.monotonic()
        Measurer.prefault(size)
        took_s = time.monotonic() - begun
        used_s = starts(given.processes, given.mib)
        figures = f"{median(used_s):.3f} s, {min(used_s):.3f} to {max(used_s):.3f}"
        number = sum(it > 1.25 * median(used_s) for it in used_s)
        print(f"{size >> 20:4} MiB prefaulted in {took_s:.2f} s: system time {figures}", end="")
        print(f"; {number} of {len(used_s)} over 1.25 times", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
