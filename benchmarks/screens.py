"""Draws pictures of results: the terminal, the page in two widths and themes, and the main chart.

For the gate that fails, also draws its comment on a pull request, in a style like GitHub's.

    .bench/venv/bin/python -m benchmarks.screens fail=FOLDER plain=FOLDER …
"""

import io
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from markdown_it import MarkdownIt
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.text import Text

from benchmarks.common import command_line
from waitbench.pipeline.concluding import findings_of, tables
from waitbench.reporting.gate_formats import render_markdown
from waitbench.store import comparisons
from waitbench.system.paths import ROOT

CHARTS = {
    "pass": "gate", "fail": "gate", "inconclusive": "gate", "plain": "costs",
    "launcher": "costs", "releases": "costs",
}  # fmt: skip
"""The main chart of each comparison."""
COMMENT = """<style>
body { font: 14px/1.5 sans-serif; margin: 16px; color: #1f2328; background: white; }
article { border: 1px solid #d1d9e0; border-radius: 6px; }
header { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; }
main { padding: 0 16px 16px; }
table { border-collapse: collapse; margin-bottom: 16px; }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px; }
</style>
<article><header><b>github-actions</b> bot commented</header><main>"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_line(__doc__)
    parser.add_argument("results", nargs="+", metavar="NAME=FOLDER", help=", ".join(CHARTS))
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "screens", metavar="FOLDER")
    given = parser.parse_args(arguments)
    with sync_playwright() as play, TemporaryDirectory() as scratch:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, _, source in (text.partition("=") for text in given.results):
            folder = shutil.copytree(source, Path(scratch, name))
            print_result(folder).save_svg(str(given.to / f"{name}.svg"), title="waitbench")
            waitbench("report", folder, "--html", "page.html")
            view = browser.new_page()
            view.goto(Path(scratch, "page.html").as_uri())
            chart = Image.open(folder / f"{CHARTS[name]}.png").convert("RGB")
            combine(view, chart).save(given.to / f"{name}.webp", lossless=True, method=6)
            if name == "fail":
                comment = draw_comment(folder, browser.new_page())
                comment.save(given.to / "comment.webp", lossless=True, method=6)
    return 0


def waitbench(command: str, folder: Path, *more: str) -> str:
    """Runs a command beside a folder of results, so that output has no path of this machine."""
    variables = {**os.environ, "COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    return subprocess.run(
        [ROOT / "waitbench", command, folder.name, *more], env=variables, cwd=folder.parent,
        check=True, stdout=subprocess.PIPE, text=True, timeout=120,
    ).stdout  # fmt: skip


def print_result(folder: Path) -> Console:
    """Prints a report on a recording console, after drawing its charts."""
    screen = Console(record=True, width=80, file=io.StringIO(), highlight=False)
    waitbench("plot", folder)
    screen.print(Text.from_ansi(waitbench("report", folder)), soft_wrap=True)
    return screen


def draw_comment(folder: Path, view: Page) -> Image.Image:
    """The verdict of a gate as a comment on a pull request."""
    findings = findings_of(comparisons.read(folder))
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    view.set_viewport_size({"width": 860, "height": 100})
    view.set_content(COMMENT + markdown.render(render_markdown(findings, tables(findings, None))))
    return Image.open(io.BytesIO(view.screenshot(full_page=True)))


def combine(view: Page, chart: Image.Image) -> Image.Image:
    """Joins pictures: the page, light above dark and wide left of narrow, and a chart below."""
    sheet = Image.new("RGB", (1846, 1832 + chart.height), "gray")
    for top, scheme in ((0, "light"), (916, "dark")):
        view.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for left, width, height in ((0, 1440, 900), (1456, 390, 844)):
            view.set_viewport_size({"width": width, "height": height})
            sheet.paste(Image.open(io.BytesIO(view.screenshot())), (left, top))
    sheet.paste(chart, (0, 1832))
    return sheet


if __name__ == "__main__":
    raise SystemExit(main())
