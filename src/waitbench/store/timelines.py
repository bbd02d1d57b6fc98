"""Timelines: the CPU share of each thread of a run over time, one CSV file a scenario."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from msgspec import convert

from waitbench.model.run import ThreadSample
from waitbench.store.plain import reading
from waitbench.system import files

SUFFIX = "-timeline.csv"
"""What follows the scenario in the file's name."""


def write(path: Path, samples: Sequence[ThreadSample]) -> None:
    """Writes samples to a file. Raises ``HarnessError`` when the disk refuses."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["revision", "time_s", "process", "thread", "cpu_share"])
    writer.writerows(
        (s.label, f"{s.time_s:.3f}", s.process, s.thread, f"{s.share:.4f}") for s in samples
    )
    files.write_text(path, text.getvalue())


def read(path: Path) -> list[ThreadSample]:
    """The samples of a file. Raises ``UsageError`` where it is not one of ours."""
    with reading(path), path.open(newline="", encoding="utf-8") as file:
        return convert(list(csv.DictReader(file)), list[ThreadSample], strict=False)
