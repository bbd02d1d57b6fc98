"""The tables of samples, as the documents quote them.

    .bench/venv/bin/python benchmarks/quote.py

In a document, what stands between ``<!-- tables of FOLDER -->`` and ``<!-- end -->`` is what
``./waitbench report FOLDER --markdown FILE`` writes, folded to the width of documents. This puts it
there anew; a test holds that nobody has changed it by hand.
"""

import re
import textwrap
from pathlib import Path

from waitbench import families
from waitbench.reporting.markdown import render_table
from waitbench.store import comparisons
from waitbench.system.places import ROOT

DOCUMENTS = tuple(sorted((ROOT / "docs").glob("*.md")))
WIDEST = 120
_QUOTED = re.compile(r"(<!-- tables of (\S+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def quoted(text: str) -> str:
    """A document's text, with the tables that its samples give now."""
    return _QUOTED.sub(lambda found: f"{found[1]}\n{tables_of(ROOT / found[2])}\n{found[3]}", text)


def tables_of(folder: Path) -> str:
    """The families' tables of a folder of results, in Markdown."""
    tables = families.tables(comparisons.read(folder))
    lines = "\n".join(map(render_table, tables)).splitlines()
    return "".join(f"{_folded(line)}\n" for line in lines)


def _folded(line: str) -> str:
    return line if line.startswith("|") else textwrap.fill(line, WIDEST)


def main() -> None:
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        document.write_text(quoted(text), "utf-8")


if __name__ == "__main__":
    main()
