"""What is kept of a load, and read again."""

import json
from pathlib import Path

import pytest

from tests.families.embedding.loads import one_load
from waitbench.families.embedding import kept
from waitbench.families.embedding.kept import summarize
from waitbench.model.errors import UsageError
from waitbench.store import comparisons


def test_of_several_rounds_medians_are_kept_and_counts_are_added() -> None:
    rounds = [one_load(0.010, 100), one_load(0.030, 300), one_load(0.011, 200, failed=6)]
    figures = summarize(rounds)
    assert figures.rounds == 3
    assert figures.requests_per_s == 20
    assert figures.percentiles_s["min"] == 0.011
    assert figures.fastest_s == [0.010, 0.030, 0.011]
    assert figures.success_rate == pytest.approx(600 / 606)
    assert figures.statuses == {"200": 600, "503": 6}
    assert figures.upstream_calls == 600, "without a proxy each request is a call"
    assert figures.checked == 6
    assert figures.cpu_s == {"embedder": 3.0}
    assert figures.duration_s == pytest.approx(30)


def test_calls_of_a_proxy_are_its_own() -> None:
    rounds = [one_load(0.01, 80, upstream_calls=count) for count in (10, 12)]
    assert summarize(rounds).upstream_calls == 22


def test_of_very_many_latencies_a_part_is_kept_in_order() -> None:
    load = one_load(0.1, 0)
    load.load.latencies_s = [number / 1000 for number in range(10_000, 0, -1)]
    kept_s = list(summarize([load]).latencies_s)
    assert len(kept_s) == 2000
    assert kept_s == sorted(kept_s)
    assert (kept_s[0], kept_s[-1]) == (0.001, 9.996)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    modes = {
        "proxy-adaptive": summarize([one_load(0.01, 80, upstream_calls=10)]),
        "direct": summarize([one_load(0.02, 50), one_load(0.01, 50, failed=1)]),
    }
    kept.keep(tmp_path, {"rounds": 2}, modes)
    data = json.loads((tmp_path / "load.json").read_text())
    assert (data["format"], data["kind"], data["options"]) == (2, "load", {"rounds": 2})
    again = kept.loads(comparisons.read(tmp_path))
    assert again == modes
    assert list(again) == list(modes), "in the order in which they were asked for"


def test_fields_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    kept.keep(tmp_path, {}, {"direct": summarize([one_load(0.02, 50)])})
    path = tmp_path / "load.json"
    data = json.loads(path.read_text())
    data["modes"]["direct"]["temperature"] = 21
    path.write_text(json.dumps(data))
    assert kept.loads(comparisons.read(tmp_path))["direct"].answered == 50


@pytest.mark.parametrize(
    "modes", ['{"direct": {"rounds": 1}}', '{"direct": {"client": 3}}', "[1, 2]", "7"]
)
def test_a_file_that_is_not_of_a_load_is_named(tmp_path: Path, modes: str) -> None:
    (tmp_path / "load.json").write_text(f'{{"format": 2, "kind": "load", "modes": {modes}}}')
    with pytest.raises(UsageError, match=r"load\.json' is not a result file of waitbench"):
        kept.loads(comparisons.read(tmp_path))
