"""How large a page is, and how long a browser takes until its answer is on the screen.

    .bench/venv/bin/python benchmarks/page_load.py [--comparisons 300] [--newest 50] [--loads 20] \
        [FOLDER...]

Makes the page of these folders of results, or of made-up comparisons, each of an anchor and two
neighbours out of 300 commits in eight scenarios, and loads it in Chromium, from the disk, with
nothing cached. Kept output: docs/trials/page-load.txt.
"""

import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.common import command_line
from waitbench.model.environment import Facts
from waitbench.model.metrics import BY_NAME
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import Measurement
from waitbench.pipeline import paging
from waitbench.store import comparisons
from waitbench.system import variables

ANSWERED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
SCENARIOS = 8
REVISIONS = 300
ROUNDS = 5
AT = "2026-01-01T00:00:00+00:00"
METRICS = tuple(BY_NAME[name] for name in ("real", "user", "system", "cpu", "steady", "wakeups"))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--comparisons", type=int, default=300)
    parser.add_argument("--newest", type=int, default=50)
    parser.add_argument("--loads", type=int, default=20)
    options = parser.parse_args()
    print(" ".join(["benchmarks/page_load.py", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        roots = options.folders
        if not roots:
            for number in range(options.comparisons):
                write(folder / f"comparison-{number}", number)
            roots = [folder]
        page = folder / "page.html"
        begun = time.monotonic()
        with variables.only_listed():
            paging.write(page, roots, options.newest)
        made_s = time.monotonic() - begun
        rows = page.read_text().count("<tr>")
        print(f"{page.stat().st_size / 1e6:.2f} MB, {rows} rows of tables, made in {made_s:.1f} s")
        loads = [load_ms(page) for _ in range(options.loads)]
    columns = zip(*loads, strict=True)
    for name, times in zip(("answered", "loaded"), map(sorted, columns), strict=True):
        middle = statistics.median(times)
        print(f"{name} in {middle:.0f} ms (median of {len(times)}), {times[-1]:.0f} ms at most")


def write(folder: Path, number: int) -> None:
    """A comparison as it is on the disk, of revisions that cost the same."""
    chance = random.Random(number)
    newest = chance.randrange(2, REVISIONS)
    labels = [f"{one:010x}" for one in (0, newest - 1, newest)]
    context = Context(
        revisions=tuple(map(revision, labels)),
        topology="single",
        mixed_origins=False,
        hyperfine_version="1.20.0",
        machine={"fingerprint": f"{number % 7:012x}"},
        started_at=AT,
        argv=("compare",),
    )
    records = []
    for place in range(SCENARIOS):
        record = Record(
            scenario=f"scenario-{place}", family=None, parameters={}, context=context,
            waits=True, metrics=METRICS,
        )  # fmt: skip
        for one in range(1, ROUNDS + 1):
            for position, label in enumerate(labels):
                values = {metric.key: chance.lognormvariate(0, 0.06) for metric in METRICS}
                record.add(
                    Measurement(
                        label=label, round=one, position=position, started_at=AT, metrics=values
                    )
                )
        records.append(record)
    folder.mkdir(parents=True)
    comparisons.begin(folder, context)
    comparisons.finish(folder, records)


def revision(label: str) -> RevisionRecord:
    """A commit that was built here."""
    facts = Facts(
        python="3.11.9", package_version="0.1.0", extensions={}, package_sha256=label,
        requirements=(), compiler=None, capabilities=frozenset(),
    )  # fmt: skip
    return RevisionRecord(
        label=label, text=label, engine="bytewax", origin="source", commit=label * 4,
        commit_date=AT, facts=facts,
    )  # fmt: skip


def load_ms(page: Path) -> tuple[float, float]:
    """Milliseconds until something is on the screen, and until the end of the load event.

    In a browser of its own.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened = browser.new_page()
        opened.goto(page.as_uri(), wait_until="load")
        opened.wait_for_function(f"{LOADED} > 0 && ({ANSWERED}) > 0")
        return float(opened.evaluate(ANSWERED)), float(opened.evaluate(LOADED))


if __name__ == "__main__":
    main()
