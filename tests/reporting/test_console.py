"""What is printed is text: nothing in it commands the terminal, wherever it comes from."""

import ast
import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from tests.gate_runs import counted, verdict_of
from tests.records import make_record, outcome, times
from tests.reporting.printing import lines_of
from waitbench.analysis import statistics
from waitbench.reporting import comparison as reporting
from waitbench.reporting import gate, summary
from waitbench.reporting.console import make_console, print_document, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.progress import PreparationLog
from waitbench.system.places import PACKAGE

HOSTILE = "a\x1b[31m\x1b]0;title\x07\r\x9b2J\x7f\u202eb"


def record_names(console: Console) -> None:
    runs = [times(1, 1, 1), times(1, 1, 2)]
    record = make_record({f"base{HOSTILE}": runs, HOSTILE: runs}, scenario=f"waiting{HOSTILE}")
    record.add(outcome(HOSTILE, 3, HOSTILE, message=HOSTILE))
    comparison = statistics.compare(record)
    reporting.print_comparison(comparison, console)
    summary.print_summary([comparison], console)


def cells(console: Console) -> None:
    table = Table(HOSTILE, (HOSTILE, HOSTILE), ((HOSTILE, HOSTILE),), (HOSTILE,))
    print_tables([table], console)


def verdict(console: Console) -> None:
    record = counted(HOSTILE, cpu=1.5)
    print_document(gate.document(verdict_of(record, criteria=["cpu:10%"])), console)


def what_is_prepared(console: Console) -> None:
    with PreparationLog(console, quiet=False) as say:
        say(HOSTILE, HOSTILE)


def plain_text(console: Console) -> None:
    console.print(HOSTILE, soft_wrap=True)
    console.print(Text(HOSTILE), style="bold")


@pytest.mark.parametrize(
    "show", [record_names, cells, verdict, what_is_prepared, plain_text], ids=lambda f: f.__name__
)
def test_no_text_commands_a_terminal(show: Callable[[Console], None]) -> None:
    shown = "\n".join(lines_of(show))
    assert "\ufffd" in shown
    assert [one for one in shown if not one.isprintable() and one != "\n"] == []


def test_a_terminal_is_told_what_we_tell_it_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    file = io.StringIO()
    make_console(file=file, width=80).print(Text(HOSTILE, style="red"))
    told = re.findall(r"\x1b\[[0-9;]*m", file.getvalue())
    assert told == ["\x1b[31m", "\x1b[0m"]
    assert file.getvalue().count("\x1b") == 2


def test_brackets_are_no_markup() -> None:
    assert lines_of(lambda console: console.print("Results in /tmp/[red]x[/red]")) == [
        "Results in /tmp/[red]x[/red]"
    ]


def test_every_console_is_made_in_one_place() -> None:
    makers = [
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Console")
    ]
    assert makers == ["console.py"]


def test_a_setting_in_a_label_is_no_picture() -> None:
    def show(console: Console) -> None:
        console.print("engine@1.0+ms:100:x", soft_wrap=True)
        with PreparationLog(console, quiet=False) as say:
            say("engine@1.0+ms:100:", "installing")

    assert [line for line in lines_of(show) if "ms:100:" not in line] == []
