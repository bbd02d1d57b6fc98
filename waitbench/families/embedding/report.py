"""Family ``embedding``: how long a request takes, and what it costs whom, directly and through each mode of the proxy."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from waitbench.families.embedding.scenarios import MODES
from waitbench.reporting.charts import style
from waitbench.reporting.family_table import FamilyTable
from waitbench.store.results import Contents, Record

_PREFIX = "embedding-"
LOAD_CHART = "embedding-load"

Loads = Mapping[str, Mapping[str, Any]]
"""What ``runner.py load`` keeps, by mode; see ``results.Contents``."""


def tables(contents: Contents) -> list[FamilyTable]:
    """A worker's requests by mode, one at a time, for each revision; and a load of many clients."""
    return _worker_tables(contents.records) + _load_tables(contents.loads)


def figures(contents: Contents) -> Mapping[str, Figure]:
    """Of a load. A worker's runs have the bars that all scenarios have."""
    return _load_figures(contents.loads)


def _worker_tables(records: Sequence[Record]) -> list[FamilyTable]:
    known = list(MODES)
    ours = {record.scenario.removeprefix(_PREFIX): record for record in records if record.scenario.startswith(_PREFIX)}
    # A folder is read in the order of its files' names.
    ours = dict(sorted(ours.items(), key=lambda found: known.index(found[0]) if found[0] in known else len(known)))
    made = []
    for label in next(iter(ours.values())).context.labels if ours else ():
        found = {mode: record for mode, record in ours.items() if record.of(label)}
        taken = {
            mode: np.array([sample["taken_s"] * 1000 for run in record.of(label) for sample in run.samples])
            for mode, record in found.items()
        }
        rows = [
            ("requests", *(f"{len(values):,}" for values in taken.values())),
            ("requests per second", *(f"{1000 / values.mean():,.0f}" for values in taken.values())),
            ("fastest, ms", *(f"{values.min():.2f}" for values in taken.values())),
            ("average, ms", *(f"{values.mean():.2f}" for values in taken.values())),
            *((f"{q} %, ms", *(f"{np.percentile(values, q):.2f}" for values in taken.values())) for q in (50, 90, 99)),
            ("slowest, ms", *(f"{values.max():.2f}" for values in taken.values())),
        ]
        for name, key in (
            ("worker's", "time_cpu_steady"),
            ("proxy's", "service_cpu_proxy"),
            ("embedder's", "service_cpu_embedder"),
        ):
            rows.append((f"{name} CPU, ms/request", *(_per_request(record, label, key) for record in found.values())))
        rows.append(("upstream calls/request", *(_per_request(r, label, "upstream_calls", 1, "1") for r in found.values())))
        made.append(
            FamilyTable(
                f"embedding · {label} · one request at a time",
                ("", *found),
                tuple(rows),
                ("To wait for company is worth nothing to a worker that sends its next request when it has the answer.",),
            )
        )
    return made


def _load_tables(loads: Loads) -> list[FamilyTable]:
    """The published table, percentiles, and what the load cost."""
    if not loads:
        return []
    rows = [
        ("success rate", *(f"{load['success_rate']:.2%}" for load in loads.values())),
        ("requests per second", *(f"{load['requests_per_s']:,.1f}" for load in loads.values())),
        ("… against direct", *(_against_direct(load, loads) for load in loads.values())),
        ("fastest, ms", *(_milliseconds(load, "min") for load in loads.values())),
        ("… of each round", *(_fastest_of_rounds(load) for load in loads.values())),
        ("… against direct", *(_fastest_against_direct(load, loads) for load in loads.values())),
        *(
            (name, *(_milliseconds(load, key) for load in loads.values()))
            for name, key in (
                ("average, ms", "mean"), ("50 %, ms", "50%"), ("90 %, ms", "90%"), ("99 %, ms", "99%"),
                ("slowest, ms", "max"),
            )
        ),
        ("upstream calls/request", *(f"{load['upstream_calls'] / max(1, _answered(load)):.3f}" for load in loads.values())),
        ("proxy's CPU, ms/request", *(_cpu(load, "proxy") for load in loads.values())),
        ("embedder's CPU, ms/request", *(_cpu(load, "embedder") for load in loads.values())),
        ("answers checked, wrong", *(f"{load['checked']:,}, {load['wrong']}" for load in loads.values())),
    ]  # fmt: skip
    rounds = max(load.get("rounds", 1) for load in loads.values())
    notes = (f"Medians of {rounds} loads each, one mode after the other.",) if rounds > 1 else ()
    return [FamilyTable("embedding · many clients at once", ("", *loads), tuple(rows), notes)]


def _load_figures(loads: Loads) -> Mapping[str, Figure]:
    """``embedding-load``: requests per second, the distribution of latencies, CPU per request."""
    if not loads:
        return {}
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    many, late, cost = figure.subplots(1, 3)
    for number, load in enumerate(loads.values()):
        bar = many.bar(number, load["requests_per_s"], color=style.colour(number), width=0.7)
        many.bar_label(bar, fmt="{:,.0f}", fontsize=9)
    _ticks(many, loads)
    many.set_ylabel("requests per second")
    many.set_title("how many answers", fontsize=10)
    for number, (mode, load) in enumerate(loads.items()):
        values, longer = _distribution(load)
        # The later, the thinner: where modes are alike, those below still show.
        late.plot(values, longer, color=style.colour(number), label=mode, linewidth=max(1.4, 5 - 1.2 * number))
    late.set(xscale="log", xlabel="milliseconds", ylabel="share of requests that take longer", ylim=(0, 1))
    late.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    late.set_title("how long they take", fontsize=10)
    style.tidy(late)
    for number, load in enumerate(loads.values()):
        embedder, proxy = (load["cpu_s"].get(name, 0.0) / max(1, _answered(load)) * 1000 for name in ("embedder", "proxy"))
        cost.bar(number, embedder, color=style.colour(number), width=0.7)
        cost.bar(number, proxy, bottom=embedder, color=style.colour(number), hatch="//", edgecolor="white", width=0.7)
    _ticks(cost, loads)
    cost.set_ylabel("CPU milliseconds per request")
    cost.set_xlabel("plain: embedder, hatched: proxy", fontsize=8, color="#555555")
    cost.set_title("what they cost", fontsize=10)
    handles, labels = late.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, len(labels)), frameon=False)
    style.title(figure, None, "Many clients of an embedding service, with and without a batching proxy", "")
    return {LOAD_CHART: figure}


def _distribution(load: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Milliseconds, and the share of requests that take longer; by percentiles where the client gives no more."""
    values = [latency_s * 1000 for latency_s in load["latencies_s"]]
    if values:
        return values, [1 - place / len(values) for place in range(len(values))]
    shares = {"50%": 0.5, "90%": 0.1, "99%": 0.01, "max": 0.0}
    known = [(load["percentiles_s"][name] * 1000, share) for name, share in shares.items() if name in load["percentiles_s"]]
    return [value for value, _ in known], [share for _, share in known]


def _ticks(axes: Axes, loads: Loads) -> None:
    axes.set_xticks(range(len(loads)), [mode.replace("-", "-\n", 1) for mode in loads], fontsize=8)
    style.tidy(axes)
    axes.grid(visible=False, axis="x")


def _answered(load: Mapping[str, Any]) -> int:
    return int(load["statuses"].get("200", 0))


def _against_direct(load: Mapping[str, Any], loads: Loads) -> str:
    base = loads.get("direct", {}).get("requests_per_s")
    return f"× {load['requests_per_s'] / base:.2f}" if base else "–"


def _fastest_of_rounds(load: Mapping[str, Any]) -> str:
    """The range, where there is one."""
    known = sorted(fastest for fastest in load.get("fastest_s", []) if fastest is not None)
    return f"{known[0] * 1000:,.1f}–{known[-1] * 1000:,.1f}" if len(known) > 1 else "–"


def _fastest_against_direct(load: Mapping[str, Any], loads: Loads) -> str:
    """Median of the rounds' own ratios: a round's loads share the state of the machine."""
    pairs = zip(load.get("fastest_s", []), loads.get("direct", {}).get("fastest_s", []), strict=False)
    ratios = [mine / direct for mine, direct in pairs if mine is not None and direct]
    return f"× {median(ratios):.2f}" if ratios else "–"


def _milliseconds(load: Mapping[str, Any], key: str) -> str:
    return f"{load['percentiles_s'][key] * 1000:,.1f}" if key in load["percentiles_s"] else "–"


def _cpu(load: Mapping[str, Any], service: str) -> str:
    used = load["cpu_s"].get(service)
    return "–" if used is None else f"{used / max(1, _answered(load)) * 1000:.3f}"


def _per_request(record: Record, label: str, key: str, factor: float = 1000, without: str = "–") -> str:
    """A metric of the run, by request."""
    runs = record.of(label)
    requests = sum(len(run.samples) for run in runs)
    if not requests or any(key not in run.metrics for run in runs):
        return without
    return f"{sum(run.metrics[key] for run in runs) / requests * factor:.3g}"
