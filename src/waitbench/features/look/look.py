"""``look``: shows the cost of a running worker, or judges it by limits or another worker."""

import json
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from waitbench.analysis.results import as_json as as_builtins
from waitbench.commands import options
from waitbench.features.look import observe, view
from waitbench.features.look.windows import LONGEST_S, judge, read_limits
from waitbench.model.errors import ExitCode, UsageError
from waitbench.reporting.console import make_console, print_prose, print_tables

EXAMPLES = """
\b
Examples:
  ./waitbench look 4711
  ./waitbench look podman:web --times 500 --price 0.04/core-hour
  ./waitbench look 4711 --limit idle:0.5% --limit wakeups:5/s    # exit code 1 if it is above
  ./waitbench look redis-server valkey-server                    # … if the second costs more
"""
_DEFAULT_S = 30.0


def look(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="PID|NAME|KIND:NAME|FOLDER",
            help="A process, or all of a name, with descendants; podman:NAME, docker:NAME, "
            "unit:NAME or pod:UID; or the folder of a cgroup. Two are compared.",
        ),
    ],
    limits: Annotated[
        list[str],
        typer.Option(
            "--limit",
            metavar="METRIC:VALUE",
            help="The most of idle, wakeups, syscalls or memory; repeatable.\n\nCounts until the "
            "answer is certain. Exit code 1 above the limit, 3 if the answer stays open.",
        ),
    ] = [],
    seconds: Annotated[
        Optional[float],
        typer.Option(
            "--for",
            metavar="SECONDS",
            parser=options.parse_seconds,
            help="How long to count. With --limit, or two targets: the most, in 90 windows.",
            show_default=f"{_DEFAULT_S:g}, at most {LONGEST_S:g}",
        ),
    ] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Then find which thread wakes up, in which function."
            "\n\nTakes as long again, and 8 to 40 s in which the process stands still for some "
            "milliseconds each time. With --limit: only if the limit does not hold.",
        ),
    ] = False,
    times: Annotated[
        int,
        typer.Option("--times", metavar="N", min=1, help="Multiply the cost by this many workers."),
    ] = 1,
    price: options.CorePrice = None,
    as_json: options.AsJson = False,
) -> int:
    """Measure a running process without touching it."""
    criteria, running = read_limits(limits), [observe.find(target) for target in targets]
    if len(running) > 2 or (running[1:] and running[0].pids & running[1].pids):
        raise UsageError("Name one target, or two that have no process in common.")
    if as_json and (times > 1 or price):
        raise UsageError("--json reports the cost of one worker: leave out --times and --price.")
    decision = judge(running, criteria, seconds or LONGEST_S) if criteria or running[1:] else None
    totals = decision.totals if decision else [observe.observe(running[0], seconds or _DEFAULT_S)]
    code = decision.exit_code if decision else ExitCode.OK
    is_explained = why and (code or not decision)
    reasons = view.explain(running[-1], totals[-1].seconds) if is_explained else []
    if as_json:
        before, *after = map(asdict, totals)
        data = {**after[-1], "baseline": before} if after else before
        if decision:
            data |= {
                "outcome": decision.outcome,
                "judgements": as_builtins(decision.verdict.judgements),
            }
        for reason in reasons:
            data |= reason.json
        print(json.dumps(data, indent=2))
        return code
    console = make_console()
    if decision:
        view.print_decision(decision, console)
    tables = [view.table(it) for it in totals]
    print_tables([*tables, *(table for it in reasons for table in it.tables)], console)
    if times > 1 or price:
        print_prose(view.sum_up(totals[-1].cores, times, price), console)
    return code
