"""What keeping a run costs as a comparison grows: time and bytes of the first runs and the last.

    .bench/venv/bin/python benchmarks/store_growth.py [--runs 1000] [--samples 300] [--folder F]

Each run is on the disk when it counts, so the time is mostly the disk's; name a folder on the disk
that results are kept on. Bytes are all that the process reads and writes.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import command_line
from waitbench.model.metrics import METRICS
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import Measurement
from waitbench.store import comparisons
from waitbench.system.places import Cache


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=300, help="samples of each run")
    parser.add_argument("--folder", type=Path, default=Cache().root)
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        record = new_record()
        comparisons.begin(folder, record.context)
        seconds, sizes = keep_runs(folder, record, options.runs, options.samples)
        show(seconds, sizes)
        before = time.perf_counter()
        comparisons.finish(folder, [record])
        print(f"finishing: {time.perf_counter() - before:.2f} s")
        before = time.perf_counter()
        comparisons.read(folder)
        print(f"reading: {time.perf_counter() - before:.2f} s")


def new_record() -> Record:
    """A record of a scenario without runs."""
    context = Context(
        revisions=(RevisionRecord(label="a", text="a", origin="wheel"),),
        topology="single",
        mixed_origins=False,
        hyperfine_version="",
        machine={},
        started_at="",
        argv=(),
    )
    return Record(scenario="synthetic", family=None, parameters={}, context=context)


def keep_runs(
    folder: Path, record: Record, count: int, samples: int
) -> tuple[list[float], list[int]]:
    """Seconds and bytes that keeping each run took, in their order."""
    seconds, sizes = [], []
    for number in range(1, count + 1):
        run = Measurement(
            label="a",
            round=number,
            position=0,
            started_at=f"{number:06}",
            metrics={metric.key: random.random() for metric in METRICS},
            samples=tuple({"taken_s": random.random()} for _ in range(samples)),
        )
        record.add(run)
        bytes_before, before = bytes_moved(), time.perf_counter()
        comparisons.append(folder, record, run)
        seconds.append(time.perf_counter() - before)
        sizes.append(bytes_moved() - bytes_before)
    return seconds, sizes


def bytes_moved() -> int:
    """Everything that this process has read and written so far, as Linux counts it."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"]) + int(counts["wchar"])


def show(seconds: Sequence[float], sizes: Sequence[int]) -> None:
    """Prints what the first tenth of the runs took, and the last."""
    tenth = max(1, len(seconds) // 10)
    for name, part in (("first", slice(0, tenth)), ("last", slice(-tenth, None))):
        print(
            f"{name} {tenth} of {len(seconds)} runs: median {median(seconds[part]) * 1e3:.2f} ms, "
            f"{median(sizes[part]):,.0f} bytes read and written"
        )


if __name__ == "__main__":
    main()
