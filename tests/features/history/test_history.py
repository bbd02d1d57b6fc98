"""``history``, and its part of a page, of folders of results."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Compare, Said
from tests.frozen.checking import check, said_by
from waitbench.system.paths import ROOT

EXPECTED = Path(__file__).parent / "expected"
SAMPLES = ROOT / "docs" / "samples"


@pytest.mark.parametrize(("name", "options"), [("history.txt", ()), ("history.json", ("--json",))])
def test_the_history_of_the_samples(
    name: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    check(name, said_by("history", SAMPLES / "history", *options), EXPECTED)


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("history", (SAMPLES, "--metric", "joy"), "there is no metric 'joy'. There are: real"),
        ("history", (SAMPLES, "--anchor", "v9"), "is in none of these comparisons. There are: v0."),
        ("history", (SAMPLES, "-s", "nothing*"), "has idle in nothing*. Measure first"),
        ("history", ("no such folder",), "There is no folder"),
        ("track", (), "--anchor"),
        ("track", ("--newest", "0"), "0 is not in the range"),
        ("track", ("--budget", "0"), "above zero"),
    ],
)
def test_bad_input_is_refused_and_nothing_created(
    command: str, arguments: tuple[object, ...], says: str,
    said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    results = ("--results", "results") if command == "track" else ()
    code, out, err = said(command, *arguments, *results)
    assert (code, out, says in err) == (2, "", True), err
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_named_and_the_rest_is_told(
    run_compare: Compare, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    for name in ("input", "waiting", "damaged"):
        shutil.copytree(SAMPLES / name.replace("damaged", "waiting"), kept / name)
    damaged = kept / "damaged" / "runs.jsonl"
    damaged.write_text(damaged.read_text().replace('"round": ', '"round": x', 1))
    (kept / "bad").mkdir()
    (kept / "bad" / "comparison.json").write_text("{")
    told = run_compare(kept, command="history")
    assert told.returncode == 3, told.stderr
    assert "bad is left out" in told.stderr
    assert f"damaged is left out: Line 1 of '{damaged}' is not a run of waitbench" in told.stderr
    assert "delete the line" in told.stderr
    assert "v0.16.0" in told.stdout
    alone = run_compare(kept / "bad", "--html", tmp_path / "page.html", command="report")
    assert (alone.returncode, "comparison.json" in alone.stderr) == (2, True)
