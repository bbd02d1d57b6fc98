"""``load``: many clients at once on an embedding service, directly and through the proxy's modes, side by side."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from harness import load, machine, results, services
from harness.commands import charts
from harness.errors import ExitCode, UsageError
from harness.families import embedding
from harness.load import Load
from harness.places import Cache
from harness.progress import PreparationLog
from harness.scenarios import ServicePlan


@dataclass(frozen=True)
class LoadOptions:
    """What load to put on what."""

    modes: tuple[str, ...]
    connections: int
    duration_s: float
    inputs: int
    call_cost_ms: float
    url: str | None
    """Somebody else's service, instead of our embedder."""
    folder: Path


@dataclass(frozen=True)
class ModeLoad:
    """What came of one mode."""

    load: Load
    cpu_s: Mapping[str, float]
    """CPU time while the load lasted, by service."""
    upstream_calls: int | None
    """``None`` without a proxy."""


def put_load(options: LoadOptions, output: Console) -> ExitCode:
    """Loads one mode after the other; prints the tables, keeps the figures. Raises ``HarnessError``."""
    _check(options)
    say = PreparationLog(output, quiet=False)
    cache = Cache()
    done: dict[str, ModeLoad] = {}
    with say:
        python = services.make_environment(cache, say.about)
        for mode in options.modes or tuple(embedding.MODES):
            say.about(f"{mode}: {options.connections} connections for {options.duration_s:g} s")
            done[mode] = _one(mode, options, python, cache)
    options.folder.mkdir(parents=True, exist_ok=True)
    data = {
        "options": {**asdict(options), "folder": None},
        "machine": machine.describe(),
        "modes": {mode: _plain(result) for mode, result in done.items()},
    }
    results.write_safely(options.folder / results.LOAD_NAME, json.dumps(data, indent=1))
    charts.show_families(options.folder, results.LOAD_NAME, output)
    failed = any(result.load.success_rate < 1 or result.load.wrong for result in done.values())
    return ExitCode.FAILED if failed else ExitCode.OK


def _check(options: LoadOptions) -> None:
    for mode in options.modes:
        if mode not in embedding.MODES:
            raise UsageError(f"--mode {mode!r} is none of: {', '.join(embedding.MODES)}.")
    for name, number in (
        ("--connections", options.connections),
        ("--duration", options.duration_s),
        ("--inputs", options.inputs),
    ):
        if not number > 0:
            raise UsageError(f"{name} {number:g}: must be above zero.")
    if not options.call_cost_ms >= 0:
        raise UsageError(f"--call-cost {options.call_cost_ms:g}: must not be negative.")
    if options.url is not None:
        services.describe(options.url)


def _one(mode: str, options: LoadOptions, python: Path, cache: Cache) -> ModeLoad:
    plan = embedding.plan(mode, options.call_cost_ms)
    if options.url is not None:
        plan = ServicePlan(options.url, plan.proxy)
    with services.running(python, plan, cache.folder("logs")) as up:
        before = up.cpu_s()
        seen = load.run(
            up.url, up.embedder_url, connections=options.connections, duration_s=options.duration_s, inputs=options.inputs
        )
        after = up.cpu_s()
        return ModeLoad(seen, {name: used - before[name] for name, used in after.items()}, up.upstream_calls())


def _plain(result: ModeLoad) -> dict[str, object]:
    seen = result.load
    return {
        "client": seen.client,
        "duration_s": seen.duration_s,
        "statuses": dict(seen.statuses),
        "success_rate": seen.success_rate,
        "requests_per_s": seen.requests_per_s,
        "percentiles_s": dict(seen.percentiles_s),
        "checked": seen.checked,
        "wrong": seen.wrong,
        "cpu_s": dict(result.cpu_s),
        "upstream_calls": seen.answered if result.upstream_calls is None else result.upstream_calls,
        # To the tenth of a millisecond, every answer: a chart of the distribution needs no more.
        "latencies_s": [round(latency, 4) for latency in sorted(seen.latencies_s)][
            :: max(1, len(seen.latencies_s) // 2000)
        ],
    }
