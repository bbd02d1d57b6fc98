"""Carries the workloads on Pathway; see dataflows/support/api.py.

python -m carrier FILE.py:CALL WORKERS autocommit_ms=MILLISECONDS commit_each=0|1

Each source is a connector of its own, whose thread sleeps until its next item is due. What all of
them have read is one table, and each step makes the next table of it. Rows go on when their source
commits: Pathway has each do so every ``autocommit_ms``, and takes a time to be over when all
sources have committed past it.
"""

import time
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import pathway as pw
from support.carrying import Sources, dynamic_source, partitioned_source, sink
from support.holding import Alarm, Hold, Window
from support.loading import carried, settings
from support.reading import WatchedReader

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]


class Rows(pw.Schema):  # type: ignore[misc]
    """An item, by the number that tells it from all others."""

    ident: int = pw.column_definition(primary_key=True)
    item: Tuple[int, int, int]


class Subject(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """Reads one source, in a thread that Pathway gives it."""

    def __init__(self, reader: WatchedReader, *, commits_each: bool) -> None:
        super().__init__()
        self._reader = reader
        self._commits_each = commits_each

    def run(self) -> None:
        reader = self._reader
        while not reader.is_over:
            item = reader.next_item()
            if item is not None:
                self.next(ident=item[0], item=item)
                if self._commits_each:
                    self.commit()
            elif not reader.is_over:
                time.sleep(max(reader.wait_s, 0))


def build_dataflow(
    _name: str,
    source: Sources,
    steps: Sequence[Tuple[str, Callable[[Any], Any]]],
    output: Callable[[], Any],
    hold: Optional[Hold] = None,
) -> Callable[[], None]:
    """A straight dataflow: a source, what holds its items, each ``(name, function)``, an output.

    Calling what is returned runs it.
    """
    if isinstance(hold, Alarm):
        raise ValueError("no step of Pathway can ask to be woken")
    chosen = settings()
    autocommit_ms = int(chosen["autocommit_ms"])
    tables = [
        pw.io.python.read(
            Subject(reader, commits_each=chosen["commit_each"] == "1"),
            schema=Rows,
            autocommit_duration_ms=autocommit_ms,
        )
        for reader in source()
    ]
    # No two sources have an item of the same number.
    pw.universes.promise_are_pairwise_disjoint(*tables)
    table = pw.Table.concat(*tables)
    if hold is not None:
        table = _held(table, hold, autocommit_ms)
    for _, step in steps:
        table = table.select(item=_function(step)(table.item))
    pw.io.subscribe(table, on_change=on_change(output().write))
    return _run


def on_change(write: Callable[[Any], None]) -> Callable[..., None]:
    """What Pathway calls for each change of the last table: it hands the item on.

    It raises ``RuntimeError`` for one that is taken back, which nothing here may do.
    """

    def changed(key: Any, row: Dict[str, Any], time: int, is_addition: bool) -> None:
        if not is_addition:
            raise RuntimeError("%r was taken back" % (row["item"],))
        write(row["item"])

    return changed


def _held(table: Any, window: Window, autocommit_ms: int) -> Any:
    """The table behind a window, which Pathway closes when it has seen a time that is past it.

    Times are those at which the worker gets an item. Sources commit in turn, so that one may be
    seen after later ones of another source, if by less than a round. No clock closes a window.
    """
    length_ns, late_ns = int(window.length_s * 1e9), 2 * autocommit_ms * 1_000_000
    stamped = table.select(
        table.item,
        key=_function(window.key, str)(table.item),
        got_ns=_function(lambda _item: time.monotonic_ns(), int)(table.item),
    )
    closed = stamped.windowby(
        stamped.got_ns,
        window=pw.temporal.tumbling(duration=length_ns, origin=time.monotonic_ns()),
        instance=stamped.key,
        behavior=pw.temporal.exactly_once_behavior(shift=late_ns),
    ).reduce(item=pw.reducers.tuple(pw.this.item))
    return closed.flatten(closed.item)


def _function(step: Callable[[Any], Any], gives: Any = Any) -> Any:
    """A function of a column's values, called once for each row.

    Pathway would keep all that a function gave which is not said to be deterministic, for when a
    row is taken back. None is.
    """
    return pw.udf(step, return_type=gives, deterministic=True)


def _run() -> None:
    # Pathway reports on its use only where there is a key or a server to report to.
    pw.set_license_key(None)
    pw.set_monitoring_config(server_endpoint=None)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)


if __name__ == "__main__":
    carried()()
