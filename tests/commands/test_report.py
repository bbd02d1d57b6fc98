"""``report``: what it proposes, and of which folders."""

import pytest

from tests.conftest import Said
from waitbench import commands
from waitbench.store import comparisons
from waitbench.system.paths import ROOT

SAMPLES = ROOT / "docs" / "samples"


@pytest.mark.parametrize(
    ("argv", "is_known"),
    [
        (("compare", "a", "b", "--gate", "-p", "2"), True),
        (("compare", "a", "b", "--timeline"), False),
        (("compare", "a", "--rounds", "many"), False),
        (("measure", "a"), False),
        ((), False),
    ],
)
def test_a_command_line_of_another_version_may_not_parse(
    argv: tuple[str, ...], is_known: bool
) -> None:
    assert commands.parses(argv) is is_known


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in SAMPLES.rglob(comparisons.COMPARISON_NAME)), ids=str
)
def test_a_report_of_a_sample_proposes_commands_that_exist(
    folder: object, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, err = said("report", folder)
    assert (code, err) == (0, "")
    proposed = [line.strip() for line in out.splitlines() if line.startswith("         ./")]
    for words in (line.split()[1:] for line in proposed):
        assert commands.parses(["compare", *words])


@pytest.mark.parametrize("command", ["report", "plot"])
def test_a_folder_of_several_comparisons_names_one_of_them(command: str, said: Said) -> None:
    code, out, err = said(command, SAMPLES / "history")
    assert (code, out) == (2, "")
    assert f"Name one of 5 in it, such as {SAMPLES / 'history' / '1'}." in err
