"""Text that was frozen: a change of it shows up in review as a change of a file."""

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import runner
from waitbench.reporting import html
from waitbench.reporting.document import Report

EXPECTED = Path(__file__).parent / "expected"
STYLES = re.compile(r"(<(style|script)>).*?(</\2>)", re.DOTALL)
_LONG_FLOAT = re.compile(r"\d+\.\d{10,}(?:e[-+]\d+)?")


def check(name: str, said: str, folder: Path = EXPECTED) -> None:
    """Compares with what was said when it was frozen. ``UPDATE_FROZEN=1`` writes it.

    The last digits of a float depend on the processor: libraries choose their code by it.
    """
    path = folder / name
    said = _LONG_FLOAT.sub(lambda found: f"{float(found[0]):.10g}", said)
    if os.environ.get("UPDATE_FROZEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(said, "utf-8")
    assert said == path.read_text("utf-8")


def said_by(*arguments: object, code: int = 0) -> str:
    """What a command prints that ends with this exit code."""
    output = io.StringIO()
    with redirect_stdout(output):
        ended = runner.make_app()([str(one) for one in arguments], standalone_mode=False)
    assert (ended or 0) == code
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


def page_text(page: Report) -> str:
    """What a page shows above its runs, a line for each row or paragraph."""
    shown = STYLES.sub("", html.render(page)).partition("<bdi>Every run<")[0]
    shown = re.sub(r"<svg.*?</svg>", "", shown, flags=re.DOTALL)
    rows = re.split(r"</(?:tr|p|h\d|li|pre|caption)>", " ".join(shown.split()))
    texts = (" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows)
    return "\n".join([*filter(None, texts), ""])
