"""Exit code and figures of what merge concludes: what no change of the inside may move.

Only numbers and fixed words are held, never prose. ``UPDATE_FROZEN=1`` writes them.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import runner
from tests.analysis.scanned import scan_records
from tests.gate_runs import noisy, record_of, rounds, scaled
from tests.reasons import place, why
from tests.sharing import part
from tests.store.keeping import finish
from waitbench.model.metrics import METRICS
from waitbench.model.record import Record
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.gating import Gate
from waitbench.store import why as reasons
from waitbench.system.places import ROOT

SAMPLES = ROOT / "docs" / "samples"
EXPECTED = Path(__file__).parent / "expected"
HELD = ("real", "user", "system", "cpu", "steady", "wakeups", "syscalls", "startup", "latency")
"""The metrics that are held; one that a run lacks is absent."""
BASE = rounds(1, 0.5)

Result = tuple[int, object]
"""The exit code, and what is said as JSON."""


def store(folder: Path, records: Sequence[Record], *criteria: str) -> Path:
    """A folder of results, with the settings of a gate if it has criteria."""
    gate = Gate(criteria=parse(criteria, METRICS), most_rounds=10) if criteria else None
    finish(folder, *records, gate=None if gate is None else gate.as_settings())
    return folder


def merged(to: Path, *shares: Path) -> Result:
    """What ``merge`` makes of shares: what ``compare`` concludes of the same runs."""
    arguments = ["merge", *shares, "--results", to / "merged", "--no-plot", "--json"]
    output = StringIO()
    with redirect_stdout(output):
        code = runner.make_app()([str(one) for one in arguments], standalone_mode=False)
    return int(code or 0), json.loads(output.getvalue())


def judged(to: Path, candidate: Any, base: Any = BASE) -> Result:
    """The gate's verdict on two criteria."""
    record = record_of(base, candidate)
    return merged(to, store(to / "whole", [record], "system:10%", "cpu:50%"))


def scan(to: Path) -> Result:
    """Curves of two revisions, one of which costs twice as much for each input."""
    records = scan_records({"a": lambda v: 0.001 * v, "b": lambda v: 0.002 * v})
    return merged(to, store(to / "whole", records))


def explained(to: Path) -> Result:
    """A comparison that has looked at who wakes up."""
    folder = store(to / "whole", [record_of(BASE, BASE)])
    woken = [why(label, place("poll", wakeups=n)) for label, n in (("base", 10.0), ("new", 90.0))]
    reasons.write(folder, "waiting", woken)
    return merged(to, folder)


CASES: Mapping[str, Callable[[Path], Result]] = {
    "compare": lambda to: merged(to, SAMPLES / "input"),
    "gate-pass": lambda to: judged(to, BASE),
    "gate-fail": lambda to: judged(to, scaled(BASE, system=1.5)),
    "gate-inconclusive": lambda to: judged(to, noisy(5), rounds(1, 0.5, 5)),
    "merge": lambda to: merged(to, *part(store(to / "whole", shared()), 2)),
    "scan": scan,
    "why": explained,
}


def shared() -> list[Record]:
    """Two scenarios, for two shares."""
    return [record_of(BASE, scaled(BASE, user=k), scenario=f"s{k}") for k in (1, 2)]


PROSE = {"remarks", "headline", "findings", "repeat", "why_given_up", "said", "notes"}


def held(value: Any) -> Any:
    """The numbers and fixed words of a result, with ten digits: the last depend on the machine."""
    if isinstance(value, dict):
        return {
            key: [figures(one) for one in part if one["metric"] in HELD]
            if key in ("results", "judgements")
            else held(part)
            for key, part in value.items()
            if key not in PROSE
        }
    if isinstance(value, (list, tuple)):
        return [held(one) for one in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def figures(found: Mapping[str, Any]) -> str:
    """A result in a line: what it is of, its means, its ratio with bounds, its verdict."""
    what = ("scenario", "revision", "metric", "criterion")
    known = ("rounds", "verdict", "why_not", "fails")
    means = [held(found[key] and found[key]["value"]) for key in ("before", "after", "ratio")]
    bounds = [held(found["ratio"] and found["ratio"][key]) for key in ("low", "high")]
    return " ".join(
        map(str, [*(found[key] for key in what), *means, *bounds, *(held(found[k]) for k in known)])
    )


@pytest.mark.parametrize("name", CASES)
def test_exit_code_and_figures_are_as_before(name: str, tmp_path: Path) -> None:
    code, result = CASES[name](tmp_path)
    found = {"exit": code, "result": held(result)}
    path = EXPECTED / f"{name}.json"
    if os.environ.get("UPDATE_FROZEN"):
        path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    assert found == json.loads(path.read_text("utf-8"))
