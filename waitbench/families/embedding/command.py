"""``load``: many clients at once on an embedding service, directly and through the proxy's modes, side by side."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from waitbench.cli import charts
from waitbench.cli.progress import PreparationLog
from waitbench.execution import services
from waitbench.families.embedding import load
from waitbench.families.embedding import scenarios as embedding
from waitbench.families.embedding.load import Load
from waitbench.model.errors import ExitCode, UsageError
from waitbench.model.scenario import ServicePlan
from waitbench.store import results
from waitbench.system import machine
from waitbench.system.places import Cache


@dataclass(frozen=True)
class LoadOptions:
    """What load to put on what."""

    modes: tuple[str, ...]
    connections: int
    duration_s: float
    inputs: int
    call_cost_ms: float
    rounds: int
    """Loads of each mode."""
    url: str | None
    """Somebody else's service, instead of our embedder."""
    folder: Path


@dataclass(frozen=True)
class ModeLoad:
    """What came of one load on one mode."""

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
    modes = options.modes or tuple(embedding.MODES)
    done: dict[str, list[ModeLoad]] = {mode: [] for mode in modes}
    with say:
        python = services.make_environment(cache, say.about)
        for number in range(options.rounds):
            turn = number % len(modes)
            for mode in modes[turn:] + modes[:turn]:
                say.about(
                    f"round {number + 1} of {options.rounds}, {mode}: {options.connections} connections "
                    f"for {options.duration_s:g} s"
                )
                done[mode].append(_one(mode, options, python, cache))
            # What has been measured is kept, whatever becomes of the next round.
            _keep(done, options)
    charts.show_families(options.folder, results.LOAD_NAME, output)
    failed = any(one.load.success_rate < 1 or one.load.wrong for rounds in done.values() for one in rounds)
    return ExitCode.FAILED if failed else ExitCode.OK


def _keep(done: Mapping[str, Sequence[ModeLoad]], options: LoadOptions) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    data = {
        "options": {**asdict(options), "folder": None},
        "machine": machine.describe(),
        "modes": {mode: summarize(rounds) for mode, rounds in done.items()},
    }
    results.write_safely(options.folder / results.LOAD_NAME, json.dumps(data, indent=1))


def _check(options: LoadOptions) -> None:
    for mode in options.modes:
        if mode not in embedding.MODES:
            raise UsageError(f"--mode {mode!r} is none of: {', '.join(embedding.MODES)}.")
    for name, number in (
        ("--connections", options.connections),
        ("--duration", options.duration_s),
        ("--inputs", options.inputs),
        ("--rounds", options.rounds),
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
        questions = load.prepare(up.url, up.embedder_url, inputs=options.inputs)
        cpu_before, calls_before = up.cpu_s(), up.upstream_calls()
        seen = load.run(up.url, questions, connections=options.connections, duration_s=options.duration_s)
        cpu_s = {name: used - cpu_before[name] for name, used in up.cpu_s().items()}
        calls = up.upstream_calls()
        return ModeLoad(seen, cpu_s, None if calls is None or calls_before is None else calls - calls_before)


def summarize(rounds: Sequence[ModeLoad]) -> dict[str, Any]:
    """Rates and latencies are medians of the rounds; counts and CPU times are of all rounds together."""
    loads = [one.load for one in rounds]
    statuses = sum((seen.statuses for seen in loads), Counter[str]())
    names = [name for name in loads[0].percentiles_s if all(name in seen.percentiles_s for seen in loads)]
    latencies_s = sorted(latency for seen in loads for latency in seen.latencies_s)
    return {
        "client": loads[0].client,
        "rounds": len(loads),
        "duration_s": math.fsum(seen.duration_s for seen in loads),
        "statuses": dict(statuses),
        "success_rate": statuses["200"] / max(1, statuses.total()),
        "requests_per_s": median(seen.requests_per_s for seen in loads),
        "percentiles_s": {name: median(seen.percentiles_s[name] for seen in loads) for name in names},
        # Of each round, in their order: it is decided in the first milliseconds of a load, so one says little.
        "fastest_s": [seen.percentiles_s.get("min") for seen in loads],
        "checked": sum(seen.checked for seen in loads),
        "wrong": sum(seen.wrong for seen in loads),
        "cpu_s": {name: math.fsum(one.cpu_s[name] for one in rounds) for name in rounds[0].cpu_s},
        "upstream_calls": sum(one.load.answered if one.upstream_calls is None else one.upstream_calls for one in rounds),
        # To the tenth of a millisecond, and a part of them: a chart of the distribution needs no more.
        "latencies_s": [round(latency, 4) for latency in latencies_s][:: max(1, len(latencies_s) // 2000)],
    }
