"""What is kept of a load: figures of each mode, in ``load.json``."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from msgspec import convert

from waitbench.families.embedding.traffic import Load
from waitbench.model.metrics import Count, Quantity
from waitbench.store import comparisons
from waitbench.store.comparisons import Contents
from waitbench.store.plain import reading
from waitbench.system import machine

KIND = "load"
"""The name of the file, and the kind of results folder that ``load`` makes."""
_MOST_LATENCIES = 2000


@dataclass(frozen=True)
class ModeLoad:
    """What came of one load on one mode."""

    load: Load
    cpu_s: Mapping[str, float]
    """CPU time while the load lasted, by service."""
    upstream_calls: int | None
    """``None`` without a proxy."""


@dataclass(frozen=True, kw_only=True)
class ModeFigures:
    """All loads on one mode. Rates and latencies are medians of the rounds, the rest their sums."""

    client: str
    duration_s: Quantity
    """Without what was waited for after the end of each; in the first files, with it."""
    statuses: Mapping[str, Count]
    success_rate: Quantity
    requests_per_s: Quantity
    percentiles_s: Mapping[str, Quantity]
    body_bytes: Count | None
    """In the bodies of all answers; ``None`` in the first files."""
    checked: Count
    wrong: Count
    cpu_s: Mapping[str, Quantity]
    upstream_calls: Count
    latencies_s: Sequence[Quantity]
    """A part of all rounds' latencies, sorted, to the tenth of a millisecond."""
    rounds: Count = 1
    fastest_s: Sequence[Quantity | None] = ()
    """The fastest answer of each round, in their order."""
    drain_s: Quantity | None = None
    """How long answers were waited for after the end; ``None`` in the first files."""
    late: Count = 0
    """Answers that came only then."""
    late_bytes: Count = 0
    """In the bodies of these."""
    last_words: Mapping[str, str] = field(default_factory=dict)
    """Of each status but 200, if it had any."""

    @property
    def answered(self) -> int:
        return self.statuses.get("200", 0)


Modes = Mapping[str, ModeFigures]
"""By mode, in the order in which they were asked for."""


def summarize(rounds: Sequence[ModeLoad]) -> ModeFigures:
    """The figures of a mode, out of one load of each round."""
    loads = [one.load for one in rounds]
    statuses = sum((load.statuses for load in loads), Counter[str]())
    latencies_s = sorted(latency_s for load in loads for latency_s in load.latencies_s)
    every = max(1, len(latencies_s) // _MOST_LATENCIES)
    return ModeFigures(
        client=loads[0].client,
        rounds=len(loads),
        duration_s=math.fsum(load.duration_s for load in loads),
        statuses=dict(statuses),
        success_rate=statuses["200"] / max(1, statuses.total()),
        requests_per_s=median(load.requests_per_s for load in loads),
        percentiles_s={
            name: median(load.percentiles_s[name] for load in loads)
            for name in loads[0].percentiles_s
            if all(name in load.percentiles_s for load in loads)
        },
        # It is decided in the first milliseconds of a load, so that one of them says little.
        fastest_s=[load.percentiles_s.get("min") for load in loads],
        body_bytes=sum(load.body_bytes for load in loads),
        checked=sum(load.checked for load in loads),
        wrong=sum(load.wrong for load in loads),
        cpu_s={name: math.fsum(one.cpu_s[name] for one in rounds) for name in rounds[0].cpu_s},
        upstream_calls=sum(
            one.load.answered if one.upstream_calls is None else one.upstream_calls
            for one in rounds
        ),
        drain_s=math.fsum(load.drain_s for load in loads),
        late=sum(load.late for load in loads),
        late_bytes=sum(load.late_bytes for load in loads),
        last_words={status: words for load in loads for status, words in load.last_words.items()},
        # A chart of the distribution needs no more.
        latencies_s=[round(latency_s, 4) for latency_s in latencies_s][::every],
    )


def keep(folder: Path, options: Mapping[str, object], modes: Modes) -> None:
    """Writes ``load.json``. Raises ``HarnessError`` when the disk refuses."""
    comparisons.write_document(
        folder,
        KIND,
        {
            "options": options,
            "machine": machine.describe(),
            "modes": {mode: asdict(figures) for mode, figures in modes.items()},
        },
    )


def loads(contents: Contents) -> Modes:
    """What ``keep`` left in a results folder; nothing where there was no load.

    Raises ``UsageError`` for a file that is not one of ours.
    """
    document = contents.documents.get(KIND)
    if document is None:
        return {}
    with reading(contents.folder / f"{KIND}.json"):
        return convert(document["modes"], dict[str, ModeFigures])
