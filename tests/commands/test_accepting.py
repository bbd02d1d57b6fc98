"""``accepted.toml``: how it is read, and kept with the results."""

import json
from datetime import date
from pathlib import Path

import pytest

from waitbench.analysis.criteria import DEFAULTS
from waitbench.engines import METRICS
from waitbench.model.acceptance import Acceptance
from waitbench.model.errors import UsageError
from waitbench.pipeline import gating
from waitbench.pipeline.criteria import parse
from waitbench.pipeline.gating import Gate

TODAY = date(2026, 11, 23)
ENTRY = """
[[accepted]]
criterion = "system:10%"
scenario = "wait*"
reason = "It does more."
until = 2027-03-31
"""
READ = Acceptance(
    criterion="system:10%", scenario="wait*", reason="It does more.", until="2027-03-31"
)


def read(folder: Path, text: str) -> tuple[Acceptance, ...]:
    path = folder / "accepted.toml"
    path.write_text(text)
    return gating.read_accepted(path, TODAY)


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
    ],
)
def test_what_is_wrong_is_said_with_its_entry(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        read(tmp_path, ENTRY.replace(before, after))


def test_settings_carry_all_that_is_asked_to_other_machines_and_to_merge() -> None:
    criteria = (*DEFAULTS, *parse(["cpu:10%"], METRICS))
    asked = Gate(criteria=criteria, most_rounds=10, acceptances=(READ,))
    settings = json.loads(json.dumps(asked.as_settings()))
    found = Gate.read_settings({"gate": settings})
    assert (found.criteria, found.acceptances) == (asked.criteria, asked.acceptances)
