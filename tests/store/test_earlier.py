"""Results of format 1, as committed before there was another: read, and kept anew without loss."""

import csv
import json
from pathlib import Path

import pytest

from waitbench.model.metrics import METRICS
from waitbench.model.record import Contestant
from waitbench.model.run import NOT_SUPPORTED
from waitbench.model.scenario import NEXT_AWAKE
from waitbench.store import comparisons, csv_files, timelines

FIXTURES = Path(__file__).parent.parent / "fixtures" / "format-1"
INPUT = (
    "dynamic-heavy-map", "dynamic-long-input-heavy-map", "dynamic-long-input", "dynamic",
    "partitioned-heavy-map", "partitioned-long-input-heavy-map", "partitioned-long-input",
    "partitioned",
)  # fmt: skip
RUNS = {
    "": dict.fromkeys(INPUT, 10),
    "embedding-worker": {
        "embedding-direct": 3, "embedding-proxy-adaptive": 3, "embedding-proxy-fixed-1": 3,
        "embedding-proxy-fixed": 3,
    },
    "scoring": {
        "scoring-blocking": 8, "scoring-inprocess": 8, "scoring-nonblocking-park": 8,
        "scoring-nonblocking-spin": 8,
    },
    "waiting": {
        "partitioned-burst": 15, "partitioned-idle": 15, "partitioned-long-input": 15,
        "partitioned-scheduled": 5,
    },
}  # fmt: skip
"""Measurements by scenario, in the order of the files' names, by folder."""


@pytest.mark.parametrize("folder", RUNS)
def test_every_run_is_read_in_the_order_of_the_files(folder: str) -> None:
    records = comparisons.read(FIXTURES / folder).records
    assert [(r.scenario, len(r.measurements)) for r in records] == [*RUNS[folder].items()]


def test_figures_are_those_of_the_file() -> None:
    (record,) = (
        record for record in comparisons.read(FIXTURES).records if record.scenario == "partitioned"
    )
    first = record.of("v0.16.0")[0]
    assert (first.round, first.position) == (1, 1)
    assert first.started_at == "2026-11-21T01:21:09.325+00:00"
    assert first.metrics["time_wall_clock"] == 0.201210883
    assert first.metrics["memory_peak_resident"] == 22163456
    assert [m.metrics["polls"] for m in record.of("v0.16.0")] == [336] * 5


def test_the_context_is_that_of_the_scenarios() -> None:
    contents = comparisons.read(FIXTURES / "waiting")
    assert contents.context is not None
    assert contents.context == contents.records[0].context
    assert contents.context.labels == ("v0.16.0", "v0.16.1", "v0.21.1")
    assert (contents.context.engines, contents.context.waitbench) == ((), None)
    assert contents.context.topology == "cluster, 2 processes"
    assert contents.context.hyperfine_version == "1.15.0"
    assert contents.context.machine["cpu_accounting"] == "tick 250 Hz"
    assert contents.context.argv[:2] == ("compare", "v0.16.0")


def test_what_a_revision_could_do_and_where_its_launcher_was_are_among_its_facts() -> None:
    contents = comparisons.read(FIXTURES / "waiting")
    assert contents.context is not None
    old, _, new = contents.context.revisions
    assert old.facts is not None
    assert new.facts is not None
    assert (old.facts.capabilities, new.facts.capabilities) == (
        frozenset(),
        frozenset({NEXT_AWAKE}),
    )
    assert new.facts.details == {"launcher_module": "bytewax.testing"}
    assert (new.facts.python, new.facts.package_version) == ("3.10.13", "0.21.1")
    assert new.facts.package_sha256.startswith("6573284dfc17")


def test_a_revision_that_could_not_be_built_has_no_facts(tmp_path: Path) -> None:
    data = json.loads((FIXTURES / "partitioned.json").read_text())
    data["metadata"]["comparison"]["revisions"][1] = {
        "label": "v0.16.1", "text": "v0.16.1", "origin": "source", "commit": "abc",
    }  # fmt: skip
    (tmp_path / "partitioned.json").write_text(json.dumps(data))
    contents = comparisons.read(tmp_path)
    assert contents.context is not None
    assert contents.context.revisions[1] == Contestant(
        label="v0.16.1", text="v0.16.1", origin="source", commit="abc"
    )


def test_whether_a_scenario_waits_follows_from_its_parameters() -> None:
    records = [*comparisons.read(FIXTURES).records, *comparisons.read(FIXTURES / "waiting").records]
    assert {record.scenario for record in records if not record.waits} == {
        "dynamic", "dynamic-heavy-map", "partitioned", "partitioned-heavy-map",
    }  # fmt: skip


def test_a_familys_own_metrics_are_named_by_their_keys() -> None:
    for record in comparisons.read(FIXTURES / "scoring").records:
        own = record.metrics[len(METRICS) :]
        assert record.metrics[: len(METRICS)] == METRICS
        assert {(m.name, m.key, m.unit, m.title) for m in own} >= {
            ("lines_per_call", "lines_per_call", "count", "lines_per_call"),
            ("call_time_p99", "call_time_p99", "second", "call_time_p99"),
        }


def test_samples_outcomes_launchers_and_timelines_are_read() -> None:
    direct = comparisons.read(FIXTURES / "embedding-worker").records[0]
    assert [len(run.samples) for run in direct.measurements] == [400] * 3
    assert direct.measurements[0].samples[0] == {"inputs": 2.0, "taken_s": 0.004383751}
    waiting = comparisons.read(FIXTURES / "waiting")
    scheduled = waiting.records[-1]
    assert [outcome.reason for outcome in scheduled.outcomes] == [NOT_SUPPORTED] * 2
    assert waiting.records[1].launcher_cpu_s["v0.16.0"] == 3.590031999999999
    assert list(waiting.timelines) == list(RUNS["waiting"])
    first = timelines.read(waiting.timelines["partitioned-idle"])[0]
    assert (first.label, first.process, first.share) == ("v0.16.0", "launcher", 0.1525)


@pytest.mark.parametrize(
    ("folder", "name", "key"),
    [
        ("embedding", "load", "modes"),
        ("embedding/call-cost-40", "load", "modes"),
        ("paged-output", "paging", "rows"),
    ],
)
def test_documents_are_read(folder: str, name: str, key: str) -> None:
    contents = comparisons.read(FIXTURES / folder)
    assert (list(contents.documents), contents.records) == ([name], ())
    assert contents.documents[name][key]


@pytest.mark.parametrize("folder", RUNS)
def test_what_is_kept_anew_in_the_present_format_is_the_same(folder: str, tmp_path: Path) -> None:
    contents = comparisons.read(FIXTURES / folder)
    assert contents.context is not None
    comparisons.begin(tmp_path, contents.context)
    comparisons.finish(tmp_path, contents.records)
    again = comparisons.read(tmp_path)
    assert again.context == contents.context
    assert {r.scenario: r for r in again.records} == {r.scenario: r for r in contents.records}


@pytest.mark.parametrize("folder", RUNS)
def test_the_table_of_runs_has_the_same_figures(folder: str, tmp_path: Path) -> None:
    csv_files.write_runs(tmp_path, comparisons.read(FIXTURES / folder).records)
    before, after = (
        sorted(
            _rows(path / csv_files.RUNS_NAME), key=lambda row: (row["scenario"], row["started_at"])
        )
        for path in (FIXTURES / folder, tmp_path)
    )
    assert after == before


def test_a_comparison_of_format_1_can_be_continued(tmp_path: Path) -> None:
    source = FIXTURES / "partitioned.json"
    (tmp_path / source.name).write_bytes(source.read_bytes())
    (record,) = comparisons.read(tmp_path).records
    comparisons.begin(tmp_path, record.context)
    last = record.measurements.pop()
    later = [last.__class__(**{**vars(last), "round": number}) for number in (6, 7)]
    for run in later:
        comparisons.append(tmp_path, record, run)
    (read,) = comparisons.read(tmp_path).records
    assert read.measurements == [*record.measurements, last, *later]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        # A table used to have the columns of all families.
        return [{name: text for name, text in row.items() if text} for row in rows]
