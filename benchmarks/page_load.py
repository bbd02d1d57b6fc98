r"""How large a page is, and how long a browser takes to load it.

    .bench/venv/bin/python benchmarks/page_load.py [--comparisons 50] [--loads 20] [FOLDER...]

Makes the page of these folders of results, or of made-up comparisons as history_growth.py writes
them, and loads it in Chromium, from the disk, with nothing cached. Kept output:
docs/trials/page-load.txt.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks import history_growth
from benchmarks.common import command_line
from waitbench.cli import paging

LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
SCENARIOS = 8


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--comparisons", type=int, default=50)
    parser.add_argument("--loads", type=int, default=20)
    options = parser.parse_args()
    print(" ".join(["benchmarks/page_load.py", *sys.argv[1:]]))
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        roots = options.folders
        if not roots:
            for number in range(options.comparisons):
                history_growth.write(folder / f"comparison-{number}", number, SCENARIOS)
            roots = [folder]
        page = folder / "page.html"
        paging.write(page, roots, 50)
        rows = page.read_text().count("<tr>")
        print(f"{page.stat().st_size / 1e6:.2f} MB, {rows} rows of tables")
        loads = sorted(load_ms(page) for _ in range(options.loads))
    middle = statistics.median(loads)
    print(f"loaded in {middle:.0f} ms (median of {len(loads)}), {loads[-1]:.0f} ms at most")


def load_ms(page: Path) -> float:
    """Milliseconds from the beginning to the end of the load event, in a browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        opened = browser.new_page()
        opened.goto(page.as_uri(), wait_until="load")
        opened.wait_for_function(f"{LOADED} > 0")
        return float(opened.evaluate(LOADED))


if __name__ == "__main__":
    main()
