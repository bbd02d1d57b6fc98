"""What is printed is text, whatever is in it; and tables fit consoles of any width.

Nothing is cropped, and names differ.
"""

import ast
import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from tests.gate_runs import counted, record_of, rounds, scaled, verdict_of
from tests.records import make_record, outcome, times
from tests.reporting.printing import lines_of
from tests.reporting.test_comparison import COUNTED, WAITING
from waitbench.analysis import statistics
from waitbench.reporting import comparison as reporting
from waitbench.reporting import gate
from waitbench.reporting.answer import answer
from waitbench.reporting.console import (
    make_console,
    print_answer,
    print_document,
    print_tables,
)
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
    print_answer(answer([comparison]), console)


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


LABELS = [f"a-release-candidate-{number:02}-of-the-long-branch"[:40] for number in range(10)]
RUNS = [{**times(123.4 + i, 99.9 + i, 0.5), **WAITING, **COUNTED} for i in range(4)]
COMPARISON = statistics.compare(make_record(dict.fromkeys(LABELS, RUNS)))
VERDICT = verdict_of(
    record_of(rounds(1, 0.5), scaled(rounds(1, 0.5), system=1.5)),
    criteria=["system:10%", "cpu:50%", "user:12.5%,20ms"],
)
MODES = Table(
    "embedding", ("", "direct", "proxy-fixed"), (("requests per second", "12,345", "6,789"),)
)

SHOWN: dict[str, Callable[[Console], None]] = {
    "tables": lambda console: reporting.print_comparison(COMPARISON, console),
    "answer": lambda console: print_answer(answer([COMPARISON]), console),
    "gate": lambda console: print_document(gate.document(VERDICT), console),
    "cells": lambda console: print_tables([MODES], console),
}


GIVEN_WAY = {"baseline", "candidate", "0.600", "s"}
"""What the answer leaves out where names would not fit beside it."""


def words_of(lines: list[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("width", [80, 40])
def test_figures_and_headings_are_as_on_a_wide_console(name: str, width: int) -> None:
    lines = lines_of(SHOWN[name], width)
    # No word is broken, and in sentences a label is one: it may be wider than a narrow console.
    assert max(len(line) for line in lines if LABELS[0][:12] not in line) <= width
    wide = words_of(lines_of(SHOWN[name], 1000))
    lost = {w for w in wide - words_of(lines) if not w.startswith(("a-release", "req"))}
    assert lost <= (GIVEN_WAY if name == "answer" else set())


@pytest.mark.parametrize("width", [80, 40])
def test_labels_that_differ_in_the_middle_are_shown_so(width: int) -> None:
    lines = lines_of(SHOWN["tables"], width)
    first = [line.split()[0] for line in lines if line.startswith("a-re")][: len(LABELS)]
    assert len(set(first)) == len(LABELS)
