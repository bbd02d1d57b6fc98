"""How long a request takes, and what it costs whom: directly and in each mode of the proxy."""

from collections.abc import Callable, Sequence
from statistics import fmean, median

from waitbench.families.embedding import FAMILY, SCENARIOS, UPSTREAM_CALLS
from waitbench.families.embedding.kept import ModeFigures, Modes
from waitbench.families.embedding.traffic import failures
from waitbench.model.metrics import quantile
from waitbench.model.record import Record
from waitbench.model.run import Measurement
from waitbench.reporting.document import Table
from waitbench.reporting.formats import NOTHING, Statistic, format_statistic

_OF_WARM_PROCESSES = (
    "CPU is that of warm processes: of a worker from its second request on, of a service after a "
    "few of others. Of a service it is measured to 0.01 s a run."
)
_ORDER = {scenario.name: place for place, scenario in enumerate(SCENARIOS)}
_Row = tuple[str, ...]


def tables(records: Sequence[Record], modes: Modes) -> list[Table]:
    """A worker's requests by mode, one at a time, for each revision; and a load of many clients."""
    return worker_tables(records) + load_tables(modes)


def worker_tables(records: Sequence[Record]) -> list[Table]:
    """A worker's requests by mode, one at a time: a table for each revision."""
    # Folders of the first format are read in the order of their files' names.
    ordered = sorted(records, key=lambda record: _ORDER.get(record.scenario, len(_ORDER)))
    labels = ordered[0].context.labels if ordered else ()
    return [_worker_table(label, [r for r in ordered if r.of(label)]) for label in labels]


def load_tables(modes: Modes) -> list[Table]:
    """The published table, percentiles, and what the load cost; none without a load."""
    if not modes:
        return []

    def row(name: str, cell: Callable[[ModeFigures], str]) -> _Row:
        return (name, *(cell(mode) for mode in modes.values()))

    def percentile(name: str, key: str) -> _Row:
        return row(name, lambda mode: _milliseconds(mode, key))

    direct = modes.get("direct")
    rows = (
        row("success rate", lambda mode: f"{mode.success_rate:.2%}"),
        row("requests per second", lambda mode: f"{mode.requests_per_s:,.1f}"),
        row("… against direct", lambda mode: _rate_against(direct, mode)),
        *_rows_of_drain(modes),
        percentile("fastest, ms", "min"),
        row("… of each round", _fastest_of_rounds),
        row("… against direct", lambda mode: _fastest_against(direct, mode)),
        percentile("average, ms", "mean"),
        percentile("50 %, ms", "50%"),
        percentile("90 %, ms", "90%"),
        percentile("99 %, ms", "99%"),
        percentile("slowest, ms", "max"),
        row("upstream calls/request", lambda mode: _of_each(mode, mode.upstream_calls, 3)),
        row("proxy's CPU, ms/request", lambda mode: _cpu(mode, "proxy")),
        row("embedder's CPU, ms/request", lambda mode: _cpu(mode, "embedder")),
        row("answers checked, wrong", lambda mode: f"{mode.checked:,}, {mode.wrong}"),
        *_rows_of_sizes(modes),
    )
    rounds = max(mode.rounds for mode in modes.values())
    notes = [f"Medians of {rounds} loads each, one mode after the other."] if rounds > 1 else []
    notes += [said for name, mode in modes.items() if (said := _about_failures(name, mode))]
    return [Table("embedding · many clients at once", ("", *modes), rows, tuple(notes))]


def _worker_table(label: str, records: Sequence[Record]) -> Table:
    runs = [record.of(label) for record in records]
    taken_ms = [
        [s["taken_s"] * 1000 for run in each for s in run.samples if s.get("taken_s", 0) > 0]
        for each in runs
    ]

    def times(name: str, statistic: Statistic, form: str = "{:.2f}") -> _Row:
        return format_statistic(name, taken_ms, statistic, form)

    def cpu(name: str, key: str) -> _Row:
        return (name, *(_per_request(each, key, 1000, NOTHING) for each in runs))

    # Not the steady CPU: connecting and the first request are in that, shared out among many
    # requests here, and few there.
    workers_cpu_ms = [
        [s["cpu_s"] * 1000 for run in each for s in run.samples if "cpu_s" in s] for each in runs
    ]

    return Table(
        f"embedding · {label} · one request at a time",
        ("", *(record.scenario.removeprefix(f"{FAMILY.name}-") for record in records)),
        (
            ("requests", *(f"{len(values):,}" for values in taken_ms)),
            times("requests per second", lambda values: 1000 / fmean(values), "{:,.0f}"),
            times("fastest, ms", min),
            times("average, ms", fmean),
            times("50 %, ms", lambda values: quantile(values, 0.50)),
            times("90 %, ms", lambda values: quantile(values, 0.90)),
            times("99 %, ms", lambda values: quantile(values, 0.99)),
            times("slowest, ms", max),
            format_statistic("worker's CPU, ms/request", workers_cpu_ms, fmean, "{:.3g}"),
            cpu("proxy's CPU, ms/request", "service_cpu_proxy"),
            cpu("embedder's CPU, ms/request", "service_cpu_embedder"),
            # Without a proxy, each request is a call.
            (
                "upstream calls/request",
                *(_per_request(each, UPSTREAM_CALLS, 1, "1") for each in runs),
            ),
        ),
        (
            "Waiting for company gains nothing for a worker that sends its next request "
            "when it has the answer.",
            # The first files have the CPU of cold services, and not that of a worker's request.
            *((_OF_WARM_PROCESSES,) if any(workers_cpu_ms) else ()),
        ),
    )


def _per_request(runs: Sequence[Measurement], key: str, factor: float, without: str) -> str:
    """A metric by request, times ``factor``; ``without`` where a run does not have it."""
    requests = sum(len(run.samples) for run in runs)
    if not requests or any(key not in run.metrics for run in runs):
        return without
    return f"{sum(run.metrics[key] for run in runs) / requests * factor:.3g}"


def _rows_of_sizes(modes: Modes) -> list[_Row]:
    """The published table's last three; none where a file does not say how much was answered."""
    sizes = [mode.body_bytes for mode in modes.values()]
    if None in sizes:
        return []

    def row(name: str, cell: Callable[[int, ModeFigures], str]) -> _Row:
        return (name, *(cell(mode.body_bytes or 0, mode) for mode in modes.values()))

    def in_time(size: int, mode: ModeFigures) -> str:
        return f"{(size - mode.late_bytes) / mode.duration_s / 2**20:,.2f}"

    return [
        row("total data, MiB", lambda size, mode: f"{size / mode.rounds / 2**20:,.2f}"),
        row("size/request, KiB", lambda size, mode: _of_each(mode, size / 2**10, 2)),
        row("size/second, MiB", in_time),
    ]


def _rows_of_drain(modes: Modes) -> list[_Row]:
    """What came after the end of the loads; none where a file does not tell it apart."""
    drains_s = [mode.drain_s for mode in modes.values()]
    if None in drains_s:
        return []
    cells = (f"{mode.late:,} in {mode.drain_s or 0:.1f} s" for mode in modes.values())
    return [("answered after its end", *cells)]


def _about_failures(name: str, mode: ModeFigures) -> str:
    """What came instead of answers; empty where nothing did."""
    failed = failures(mode.statuses, mode.last_words)
    if not mode.answered:
        return f"{name}: nothing was answered: {failed or 'no request came to an end'}."
    return f"{name}: {failed}." if failed else ""


def _milliseconds(mode: ModeFigures, key: str) -> str:
    return f"{mode.percentiles_s[key] * 1000:,.1f}" if key in mode.percentiles_s else NOTHING


def _rate_against(direct: ModeFigures | None, mode: ModeFigures) -> str:
    if direct is None or not direct.requests_per_s:
        return NOTHING
    return f"× {mode.requests_per_s / direct.requests_per_s:.2f}"


def _fastest_of_rounds(mode: ModeFigures) -> str:
    """The range, where there is one."""
    known = [fastest for fastest in mode.fastest_s if fastest is not None]
    return f"{min(known) * 1000:,.1f}–{max(known) * 1000:,.1f}" if len(known) > 1 else NOTHING


def _fastest_against(direct: ModeFigures | None, mode: ModeFigures) -> str:
    """The median of the rounds' own ratios: a round's loads share the state of the machine."""
    pairs = zip(mode.fastest_s, direct.fastest_s if direct else (), strict=False)
    ratios = [mine / directly for mine, directly in pairs if mine is not None and directly]
    return f"× {median(ratios):.2f}" if ratios else NOTHING


def _cpu(mode: ModeFigures, service: str) -> str:
    used_s = mode.cpu_s.get(service)
    return NOTHING if used_s is None else _of_each(mode, used_s * 1000, 3)


def _of_each(mode: ModeFigures, total: float, digits: int) -> str:
    """A total by request that was answered; a dash where none was."""
    return f"{total / mode.answered:,.{digits}f}" if mode.answered else NOTHING
