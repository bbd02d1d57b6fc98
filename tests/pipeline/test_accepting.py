"""``accepted.toml``: how it is read, and kept with the results."""

from datetime import date
from pathlib import Path

import pytest

from tests.criteria import LIMIT, parse
from tests.records import context, make_record, times
from tests.store.keeping import finish
from waitbench.analysis.criteria import DEFAULTS, Acceptance
from waitbench.analysis.rule import Rule
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS
from waitbench.pipeline import gating
from waitbench.pipeline.gating import Gate, gate_of
from waitbench.store import comparisons

TODAY = date(2026, 11, 23)
ENTRY = """
[[accepted]]
criterion = "system:10%"
scenario = "wait*"
reason = "It does more."
until = 2027-03-31
"""
READ = Acceptance(
    criterion="system:10%", scenario="wait*", reason="It does more.", until=date(2027, 3, 31)
)


def read(folder: Path, text: str) -> tuple[Acceptance, ...]:
    path = folder / "accepted.toml"
    path.write_text(text)
    return gating.read_accepted(path, today=TODAY)


def test_an_entry_has_its_criterion_reason_and_end(tmp_path: Path) -> None:
    assert read(tmp_path, ENTRY) == (READ,)
    assert read(tmp_path, "") == ()
    for until, holds in (("2026-11-23", True), ("2026-11-22", False)):
        entries = read(tmp_path, ENTRY.replace("2027-03-31", until))
        assert bool(entries) is holds, "until the end of its day"
    (metric,) = read(tmp_path, ENTRY.replace("system:10%", "rss"))
    assert metric.criterion == "rss"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"It does more."', '" "', r"at `\$\.accepted\[0\]\.reason`"),
        ("until =", "untill =", r"unknown field `untill` - at `\$\.accepted\[0\]`"),
        ("system:10%", "system:10", "'system:10' is not METRIC:PERCENT%"),
        ("scenario =", "scenario", "line"),
        ("2027-03-31", "[" * 20_000, "nested too deeply"),
        ("2027-03-31", "9" * 6_000, "4300 digits"),
    ],
)
def test_what_is_wrong_is_said_with_its_entry(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        read(tmp_path, ENTRY.replace(before, after))


def test_a_gate_is_read_from_a_folder_as_it_was_stored(tmp_path: Path) -> None:
    criteria = (*DEFAULTS, *parse(["cpu:0.00001%,each", f"{LIMIT}wakeups:5/s"], METRICS))
    rule = Rule(alpha=0.01, analyses=(4, 10))
    gate = Gate(criteria=criteria, rule=rule, most_rounds=10, budget_s=9.0, acceptances=(READ,))
    finish(tmp_path, make_record({"a": [times(1, 1, 1)], "b": []}), gate=gate)
    assert gate_of(comparisons.read(tmp_path).comparison) == gate


def test_a_gate_of_another_version_cannot_be_read() -> None:
    settings = {"gate": {"criteria": [{"criterion": "cpu:10%", "scenarios": "every"}]}}
    with pytest.raises(UsageError, match=r"settings of the gate cannot be read .*`metric`"):
        gate_of(context(["a"], settings=settings))
