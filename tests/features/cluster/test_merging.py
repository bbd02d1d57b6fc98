"""Merged shards, and refusals."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.frozen.checking import check, said_by
from tests.gate_runs import record_of, rounds, scaled
from tests.reporting.test_page import gate
from tests.store.keeping import finish, recorded
from waitbench.features.cluster import merge
from waitbench.features.cluster.on_dask import unpack
from waitbench.features.cluster.on_worker import packed
from waitbench.features.cluster.shards import deal
from waitbench.model.errors import UsageError
from waitbench.model.record import ComparisonHeader, ScenarioResults
from waitbench.store import comparisons, formats
from waitbench.store.comparisons import COMPARISON_NAME
from waitbench.system.paths import ROOT


def part(whole: Path, number: int) -> list[Path]:
    """Parts a folder of results as if so many shards had been measured."""
    contents = comparisons.read(whole)
    names = [scenario.name for scenario in contents.comparison.scenarios]
    folders = []
    for index in range(1, number + 1):
        shard = deal(index, number, dict.fromkeys(names, 1.0))
        argv = (*contents.comparison.argv, "--shard", f"{index}/{number}")
        comparison = structs.replace(contents.comparison, argv=argv, shard=shard)
        records = [one for one in contents.records if one.scenario in shard.scenarios]
        folder = whole.with_name(f"{whole.name}-{index}-of-{number}")
        folder.mkdir()
        comparisons.begin(folder, comparison, records)
        comparisons.finish(folder, comparison, records)
        folders.append(folder)
    return folders


NAMES = ("one", "two", "three")
HERE = {"kernel": "Linux 6", "architecture": "x86_64", "fingerprint": "aaaa"}
THERE = {"kernel": "Linux 5", "architecture": "riscv64", "fingerprint": "bbbb"}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Three scenarios."""
    folder = tmp_path / "whole"
    records = (recorded(name, machine=HERE, waitbench="1+aaaa") for name in NAMES)
    finish(folder, *records, rounds=5, gate=None)
    return folder


def merged(*folders: Path) -> tuple[ComparisonHeader, Sequence[ScenarioResults]]:
    return merge.merged([merge.read_finished(folder) for folder in folders])


def write_merged(to: Path, *folders: Path) -> None:
    to.mkdir()
    merge.write(to, *merged(*folders), folders)


def change(folder: Path, edited: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / COMPARISON_NAME).read_text())
    edited(content)
    (folder / COMPARISON_NAME).write_text(json.dumps(content))


@pytest.mark.parametrize("number", [2, 3])
def test_merged_shards_are_byte_for_byte_what_one_machine_wrote(
    whole: Path, number: int, tmp_path: Path
) -> None:
    folders = part(whole, number)
    (folders[0] / "one.why.jsonl").write_text("of a feature\n")
    together = tmp_path / "together"
    write_merged(together, *reversed(folders))
    assert (together / "one.why.jsonl").read_text() == "of a feature\n"
    for name in (COMPARISON_NAME, "runs.csv", "runs.jsonl", *(f"{it}.json" for it in NAMES)):
        assert (together / name).read_bytes() == (whole / name).read_bytes()


def test_a_record_of_another_machine_says_so(whole: Path, tmp_path: Path) -> None:
    first, second = part(whole, 2)
    change(second, lambda content: content.update(machine=THERE, started_at="2025"))
    together = tmp_path / "together"
    write_merged(together, first, second)
    contents = comparisons.read(together)
    assert (contents.comparison.machine, contents.comparison.started_at) == (HERE, "2025")
    machines = {it.scenario: (it.spec.machine, it.measured_on) for it in contents.records}
    assert machines == {"one": (None, HERE), "two": (THERE, THERE), "three": (None, HERE)}


def test_what_the_first_shard_does_not_know_is_known_from_the_others_if_they_agree(
    whole: Path,
) -> None:
    first, second, third = part(whole, 3)
    change(first, lambda content: content["revisions"][1].update(environment=None))
    revisions = merged(first, second, third)[0].revisions
    assert all(revision.build is not None for revision in revisions)
    change(third, _environment(package_sha256="feed"))
    with pytest.raises(UsageError, match=r"3-of-3. are not .*: builds of b differ"):
        merged(first, second, third)


def test_a_scenario_is_taken_from_one_machine_and_none_is_missing(whole: Path) -> None:
    first, second, third = part(whole, 3)
    with pytest.raises(UsageError, match="A shard is missing: no folder has two"):
        merged(first, third)
    with pytest.raises(UsageError, match="two was measured in 2 of these"):
        merged(first, second, second, third)
    with pytest.raises(UsageError, match="one was measured in 2 of these"):
        merged(whole, first)


def _revision(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["revisions"][1].update(changes)


def _environment(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["revisions"][1]["environment"].update(changes)


def _parameter(content: dict[str, Any]) -> None:
    content["scenarios"][0]["parameters"]["partitions"] = 99


@pytest.mark.parametrize(
    ("edited", "says"),
    [
        # Other sources of one version.
        (lambda content: content.update(waitbench="1+bbbb"), "versions of waitbench"),
        (lambda content: content.update(hyperfine_version="1.0"), "versions of hyperfine"),
        (lambda content: content.update(topology="cluster"), "topologies"),
        (_revision(label="c"), "revisions"),
        (_environment(package_sha256="feed"), "builds of b"),
        (lambda content: content["settings"].update(rounds=6), "settings 'rounds'"),
        (lambda content: content["scenarios"].pop(), "scenarios"),
        (_parameter, "parameters of one"),
    ],
)
def test_shards_of_two_comparisons_are_refused(
    edited: Callable[[dict[str, Any]], None], says: str, whole: Path
) -> None:
    first, second = part(whole, 2)
    change(second, edited)
    with pytest.raises(UsageError, match=f"not of one comparison: .*{says} differ"):
        merged(first, second)


def test_shards_may_have_other_budgets_as_one_may_have_been_resumed(whole: Path) -> None:
    folders = part(whole, 2)

    def ask(folder: Path, criterion: str, budget_s: float) -> None:
        asked = structs.replace(gate(criterion)["gate"], budget_s=budget_s)
        change(folder, lambda it: it["settings"].update(gate=formats.to_builtins(asked)))

    ask(folders[0], "cpu:10%", 100.0)
    ask(folders[1], "cpu:10%", 200.0)
    _, records = merged(*folders)
    assert [record.scenario for record in records] == [*NAMES]
    ask(folders[1], "cpu:5%", 100.0)
    with pytest.raises(UsageError, match="settings 'gate' differ"):
        merged(*folders)


def test_an_unfinished_shard_is_to_be_continued(whole: Path) -> None:
    first, _second = part(whole, 2)
    change(first, lambda content: content.update(finished=False))
    with pytest.raises(UsageError, match=r"not finished.*--resume"):
        merge.read_finished(first)
    (first / "runs.jsonl").write_text("")
    with pytest.raises(UsageError, match="holds no results"):
        merge.read_finished(first)


def test_a_shard_arrives_as_it_was_packed(whole: Path, tmp_path: Path) -> None:
    first, *_ = part(whole, 3)
    place = tmp_path / "1"
    unpack(packed(first), place)
    assert packed(place) == packed(first)
    assert len(packed(first)) == 4
    with pytest.raises(UsageError):
        unpack(packed(tmp_path / "nowhere"), tmp_path / "2")
    assert not (tmp_path / "2").exists()


def test_a_folder_of_results_names_no_file_outside_itself(whole: Path, tmp_path: Path) -> None:
    def name_scan(name: str) -> Callable[[dict[str, Any]], object]:
        scan = {"scenario": name, "parameter": "x", "value": 1}
        return lambda content: content["scenarios"][0].update(scan=scan)

    for name in ("../../outside", "/outside", "a\tb", ""):
        change(whole, name_scan(name))
        with pytest.raises(UsageError, match=r"scan\.scenario"):
            merge.read_finished(whole)
    change(whole, lambda content: content["scenarios"][0].update(scan=None))
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (whole / "more.jsonl").symlink_to(secret)
    with pytest.raises(UsageError, match="it is a link"):
        write_merged(tmp_path / "together", whole)


def test_merge_concludes_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a gate that fails in one of two scenarios; ``UPDATE_FROZEN=1`` writes the file."""
    monkeypatch.chdir(ROOT)
    base, folder = rounds(1, 0.5), tmp_path / "whole"
    records = [record_of(base, scaled(base, system=by), scenario=f"by {by}") for by in (1.5, 1.0)]
    finish(folder, *records, **gate("system:10%,each", "cpu:50%"))
    options = ("--results", tmp_path / "merged", "--no-plot", "--json")
    shown = said_by("merge", *part(folder, 2), *options, code=1)
    check("merge.json", shown, Path(__file__).parent / "expected")
