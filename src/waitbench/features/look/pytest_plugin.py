"""pytest's fixture ``waitbench``: a test that fails if a process costs too much while it waits.

pytest imports this module at each start, so all others are imported by the first check.
"""

import io
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("waitbench").addoption(
        "--waitbench-why",
        action="store_true",
        help="After a failed check, find which thread wakes up, in which function.",
    )


class Checks:
    """Checks of running processes."""

    def __init__(self, *, why: bool) -> None:
        self._why = why

    def check(
        self,
        *processes: Any,
        seconds: float | None = None,
        **limits: str,
    ) -> None:
        """Fails the test unless a process certainly keeps its limits, such as ``idle="0.5%"``.

        A process is a PID, or an object with a ``pid``. Of two processes, the second must not cost
        more. Counts for ``seconds`` at most.
        """
        __tracebackhide__ = True
        from waitbench.features.look import view, windows
        from waitbench.features.look.observe import find
        from waitbench.model.errors import HarnessError
        from waitbench.reporting.console import make_console, print_tables

        outcome, text = "", io.StringIO()
        console = make_console(file=text, width=80)
        try:
            criteria = windows.read_limits([f"{name}:{most}" for name, most in limits.items()])
            targets = [find(process) for process in processes]
            decision = windows.judge(targets, criteria, seconds or windows.LONGEST_S)
            if not decision.exit_code:
                return
            outcome = f"{view.notes_of(decision)[0].text}\n"
            view.print_decision(decision, console)
            print_tables(map(view.table, decision.totals), console)
            if self._why:
                for reason in view.explain(targets[-1], decision.totals[-1].seconds):
                    print_tables(reason.tables, console)
        except HarnessError as error:
            console.print(str(error))
        pytest.fail(f"{outcome}{text.getvalue()}", pytrace=False)


@pytest.fixture(scope="session")
def waitbench(pytestconfig: pytest.Config) -> Checks:
    """Checks of running processes: ``waitbench.check(process, idle="0.5%", wakeups="5/s")``."""
    return Checks(why=pytestconfig.getoption("--waitbench-why"))
