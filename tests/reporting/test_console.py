"""What is printed is text, whatever is in it; and tables fit a console: nothing is cropped."""

import ast
import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from tests.gate_runs import record_of, rounds, scaled, verdict_of
from tests.records import make_record, times
from tests.reporting.made_up import many
from tests.reporting.printing import lines_of
from tests.reporting.test_idle import COSTS, PRICE, record, workers
from waitbench.analysis import statistics
from waitbench.reporting import idle
from waitbench.reporting.console import make_console, print_report, print_tables
from waitbench.reporting.document import Table
from waitbench.reporting.findings import findings, question_table, scenario_table, summarize
from waitbench.system.paths import PACKAGE

HOSTILE = "a\x1b[31m\x1b]0;title\x07\r\x9b2J\x7f\u202eb"


def test_a_terminal_is_told_what_we_tell_it_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    file = io.StringIO()
    make_console(file=file, width=80).print(Text(HOSTILE, style="red"))
    commands = re.findall(r"\x1b\[[0-9;]*m", file.getvalue())
    assert commands == ["\x1b[31m", "\x1b[0m"]
    assert file.getvalue().count("\x1b") == 2


def test_every_console_is_made_in_one_place() -> None:
    makers = [
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Console")
    ]
    assert makers == ["console.py"]


LONG = "partitions-with-a-long-input-and-a-heavy-map-too"
LABELS = [f"a-release-candidate-{number:02}-of-the-long-branch"[:40] for number in range(10)]
RUNS = [{**times(123.4 + i, 99.9 + i, 0.5), "time_cpu_idle": 99.9 + i} for i in range(4)]
FOUND = findings([statistics.compare(make_record(dict.fromkeys(LABELS, RUNS), scenario=LONG))])
ONE = findings([statistics.compare(make_record({"old": RUNS, "[red]": RUNS}, scenario=LONG))])
VERDICT = verdict_of(
    record_of(rounds(1, 0.5), scaled(rounds(1, 0.5), system=1.5)),
    criteria=["system:10%", "cpu:50%", "user:12.5%,20ms"],
)
Show = Callable[[Console], None]


def tables(*shown: Table) -> Show:
    return lambda console: print_tables(shown, console)


def several() -> Show:
    """The answer about several scenarios, whose figures are below it."""
    records = [
        make_record({"old": (RUNS * 5)[:18], "new": [times(1, 500, 1)] * 18}, scenario=name)
        for name in ("partitioned-long-input", "dynamic-long-input")
    ]
    verdict = verdict_of(*records, criteria=["cpu:10%"])
    data = findings([*map(statistics.compare, records)], verdict)
    return lambda console: print_report(summarize(data), console)


def limits(share: float) -> Show:
    """The answer about one revision, which has limits."""
    run = {**times(1, 1, 0), "cpu_share_idle": share, "wakeups": 8.0}
    record = make_record({"a": [{**run, "time_cpu_idle": 2 * share}] * 18})
    verdict = verdict_of(record, criteria=["limit idle:0.5%", "limit wakeups:5/s"])
    data = findings([statistics.compare(record)], verdict)
    return lambda console: print_report(summarize(data), console)


SHOWN: dict[str, Show] = {
    "tables": tables(scenario_table(FOUND, LONG)),
    "answer": lambda console: print_report(summarize(FOUND), console),
    "one": lambda console: print_report(summarize(ONE), console),
    "several": several(),
    "limits that hold": limits(0.004),
    "a limit that does not": limits(0.006),
    "gate": tables(question_table(findings((), VERDICT))),
    "questions": tables(question_table(findings((), many()))),
    "idle": tables(
        *(it for rows in (COSTS[:4], COSTS) for it in idle.tables(workers(rows), grouped=False))
    ),
    "waiting": tables(*idle.tables([statistics.compare(record())])),
    "waiting for money": tables(*idle.tables([statistics.compare(record())], PRICE)),
}
"""tests/frozen/expected/console has what each shows."""


def figures_of(lines: list[str]) -> set[str]:
    return {word for line in lines for word in line.split() if any(map(str.isdigit, word))}


@pytest.mark.parametrize("name", SHOWN)
def test_tables_fit_80_columns_with_the_figures_of_a_wide_console(name: str) -> None:
    lines = lines_of(SHOWN[name], 80)
    assert max(map(len, lines)) <= 80
    lost = figures_of(lines_of(SHOWN[name], 1000)) - figures_of(lines)
    assert {word for word in lost if not word.startswith("a-release")} == set()
