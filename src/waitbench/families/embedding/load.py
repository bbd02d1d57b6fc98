"""Request -> many clients at once on an embedding service, in one mode after the other."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from waitbench.execution import plan, services
from waitbench.families import embedding, presenting
from waitbench.families.embedding import charts, client, kept, tables, traffic
from waitbench.families.embedding.kept import ModeLoad
from waitbench.families.embedding.traffic import Load, Questions, failures, make_questions
from waitbench.model.errors import ExitCode, HarnessError, UsageError
from waitbench.reporting.progress import PreparationLog
from waitbench.store import folders
from waitbench.system.places import Cache

_WARM_UP_CONNECTIONS = 8
"""A full batch of the fixed rule: one alone would wait a second for each answer."""
_WARM_UP_S = 1.0
_LONGEST_S, _DEAREST_CALL_MS = 1_000_000, 1_000_000
_MOST_CONNECTIONS, _MOST_INPUTS, _MOST_ROUNDS = 60_000, 100_000, 100_000
"""What is asked for beyond these would never end, or have no ports left."""


@dataclass(frozen=True, kw_only=True)
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


def put_load(options: LoadOptions, results: Path | None, output: Console) -> ExitCode:
    """Loads one mode after the other; prints the tables, keeps the figures.

    Raises ``UsageError`` before anything is created, ``HarnessError`` where a service fails.
    """
    _validate(options)
    cache = Cache()
    modes = options.modes or tuple(embedding.MODES)
    done: dict[str, list[ModeLoad]] = {mode: [] for mode in modes}
    with folders.removed_if_unused(results), PreparationLog(output, quiet=False) as log:
        python = services.make_environment(cache, log.about)
        folder = folders.new_folder(results, kind=kept.KIND)
        for number in range(options.rounds):
            for mode in plan.in_turn(modes, number):
                log.about(
                    f"round {number + 1} of {options.rounds}, {mode}: {options.connections} "
                    f"connections for {options.duration_s:g} s"
                )
                done[mode].append(_load_mode(mode, options, python, cache))
            # What has been measured is kept, whatever becomes of the next round.
            figures = {mode: kept.summarize(rounds) for mode, rounds in done.items()}
            kept.keep(folder, asdict(options), figures)
    presenting.show(tables.load_tables(figures), charts.figures(figures), folder, kept.KIND, output)
    failed = any(each.success_rate < 1 or each.wrong for each in figures.values())
    return ExitCode.FAILED if failed else ExitCode.OK


def prepare(url: str, reference_url: str, *, inputs: int = 2) -> Questions:
    """Asks ``reference_url`` what is right, and warms up the way to ``url``.

    Raises ``HarnessError`` if either does not answer.
    """
    questions = make_questions(reference_url, inputs)
    warmed = client.put(url, questions, _WARM_UP_CONNECTIONS, _WARM_UP_S)
    if not warmed.answered:
        raise HarnessError(f"{url} does not embed: {failures(warmed.statuses, warmed.last_words)}.")
    return questions


def put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """Puts a load on ``url``: by oha where it is installed, else by our client.

    Raises ``HarnessError`` if oha is there and fails.
    """
    put_by: Callable[[str, Questions, int, float], Load]
    put_by = client.put_by_oha if shutil.which("oha") else client.put
    return put_by(url, questions, connections, duration_s)


def _validate(options: LoadOptions) -> None:
    for mode in options.modes:
        if mode not in embedding.MODES:
            raise UsageError(f"--mode {mode!r} is not one of: {', '.join(embedding.MODES)}.")
    for name, number, most in (
        ("--connections", options.connections, _MOST_CONNECTIONS),
        ("--duration", options.duration_s, _LONGEST_S),
        ("--inputs", options.inputs, _MOST_INPUTS),
        ("--rounds", options.rounds, _MOST_ROUNDS),
    ):
        if not 0 < number <= most:
            raise UsageError(f"{name} {number}: must be above zero, and at most {most:,}.")
    if not 0 <= options.call_cost_ms <= _DEAREST_CALL_MS:
        raise UsageError(
            f"--call-cost {options.call_cost_ms:g}: must not be negative, and at most "
            f"{_DEAREST_CALL_MS:,} ms."
        )
    if options.url is not None:
        traffic.describe(options.url)


def _load_mode(mode: str, options: LoadOptions, python: Path, cache: Cache) -> ModeLoad:
    servers = embedding.plan(mode, call_cost_ms=options.call_cost_ms, url=options.url)
    with services.running(python, servers, cache.folder("logs")) as up:
        with up.blamed():
            questions = prepare(up.url, up.urls[0], inputs=options.inputs)
            cpu_before, counted_before = up.cpu_s(), up.counters()
            load = put(up.url, questions, options.connections, options.duration_s)
        cpu_s = {name: used - cpu_before[name] for name, used in up.cpu_s().items()}
        counted = {key: count - counted_before[key] for key, count in up.counters().items()}
    calls = counted.get(embedding.UPSTREAM_CALLS)
    return ModeLoad(load, cpu_s, None if calls is None else int(calls))
