"""Bad input: one sentence, exit 2, nothing created."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import standin
from tests.conftest import Said
from waitbench import engines
from waitbench.commands import options
from waitbench.model.errors import UsageError
from waitbench.model.metrics import Instruments
from waitbench.system.paths import ROOT

Refused = Callable[..., str]


@pytest.fixture
def refused(said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Refused:
    """What ``compare`` says in one sentence of arguments that it refuses."""

    def refuse(*arguments: object) -> str:
        if AB[0] in arguments:
            monkeypatch.setattr(engines, "DEFAULT", standin.StandIn())
        code, out, err = said("compare", "--results", tmp_path / "results", *arguments)
        assert (code, out) == (2, ""), err
        assert not (tmp_path / "results").exists()
        return err

    return refuse


AB = ("r0.0.1", "r0.0.2")
"""Of the stand-in."""
SPARK = ROOT / "workers" / "engines" / "pyspark.toml"
"""Of a package, and names no repository."""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "No revision given"),
        (["--rounds", "0", "v0.16.0"], "'--rounds': 0 is not in the range"),
        (["--processes", "0", "v0.16.0"], "'--processes' / '-p': 0 is not in the range"),
        (["--processes", "2", "--topology", "single", "v0.16.0"], "one process"),
        (["--topology", "ring", "v0.16.0"], "--topology 'ring'"),
        (["--time-limit", "inf", "v0.16.0"], "'--time-limit': inf must be above zero, and"),
        (["--budget", "nan", "v0.16.0"], "'--budget': nan must be above zero"),
        (
            ["--inconclusive", "pass", "v0.16.0", "v0.16.1"],
            "--inconclusive and --accepted are for the gate",
        ),
        (["--accepted", "none.toml", "v0.16.0", "v0.16.1"], "none.toml' cannot be read: No such"),
        (["--scenario", "nothing", "v0.16.0"], "scenarios lists all 21."),
        (["--set", "partitions=0", "v0.16.0"], "--set partitions=0"),
        (["--python", "2.4", "v0.16.0"], "'2.4' is neither a version"),
        (["--repo", "/no/such", "v0.16.0"], "neither a folder nor a URL"),
        (["--repo", "/no/such", "--worker", SPARK, "main"], "neither a folder nor a URL"),
        (["v0.16.0; touch x"], "is not a revision"),
        (["--fail-on", "speed:10%", "v0.16.0", "v0.16.1"], "no metric 'speed'"),
        (["--fail-on", "cpu:10%", "v0.16.0"], "at least two revisions"),
        (["--fail-on", "cpu:10%", "--rounds", "2", "v0.16.0", "v0.16.1"], "at least 9"),
    ],
)
def test_bad_input_is_one_sentence_on_stderr_exit_2_and_nothing_created(
    arguments: list[object], says: str, refused: Refused
) -> None:
    assert says in refused(*arguments)
    assert not Path("x").exists()


SAMPLES = ROOT / "docs" / "samples"


@pytest.mark.parametrize(
    ("command", "arguments", "says"),
    [
        ("report", ("--html", "page.html", "--markdown", "tables.md"), "leave it out"),
        ("report", ("--html", "page.html", "nowhere"), "There is no folder 'nowhere'"),
        ("report", ("--html", "page.html", "one", "two"), "name one folder"),
        ("plot", (".",), "Measure first"),
    ],
)
def test_what_another_command_cannot_heed_is_refused_and_nothing_created(
    command: str, arguments: tuple[object, ...], says: str,
    said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, err = said(command, *arguments)
    assert (code, out, says in err) == (2, "", True), err
    assert list(tmp_path.iterdir()) == []


def test_system_calls_that_cannot_be_counted_are_not_promised(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = Instruments(reason="it is not mounted", remedy="sudo mount it")
    monkeypatch.setattr("waitbench.pipeline.request.find_instruments", lambda: lacking)
    said = refused("v0.16.0", "v0.16.1", "--fail-on", "syscalls:10%")
    assert "cannot be counted here: it is not mounted. This would fix it: sudo mount it" in said


@pytest.mark.parametrize("criterion", ["idle:10%", "wakeups:10%"])
def test_a_criterion_that_no_run_can_give_is_refused_before_anything_is_measured(
    criterion: str, refused: Refused, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("command = '{revision}'\nwindow = 'until-exit'\n")
    said = refused("--worker", path, "a=true", "b=true", "--fail-on", criterion)
    name = criterion.partition(":")[0]
    assert f"{name}: no run of mine measures it. There are: real, user" in said


def test_a_cache_with_a_folder_that_the_user_may_not_write_to_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uv").mkdir()
    # Root may write everywhere.
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "uv")
    with pytest.raises(UsageError, match=r"Permission denied.*BENCH_CACHE"):
        options._make_cache(tmp_path)
