"""Help that fits a screen, and names that are almost right."""

import pytest
import typer

import runner
from tests.conftest import Said
from waitbench import commands


def test_help_fits_a_screen_and_has_each_option(
    said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, brief, err = said("compare", "--help")
    assert (code, err) == (0, "")
    lines = brief.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    command = getattr(typer.main.get_command(runner.make_app("compare")), "commands")["compare"]  # noqa: B009
    _, full, _ = said("compare", "--help-all")
    for option in command.params:
        assert (
            option.metavar in brief
            if option.param_type_name == "argument"
            else option.opts[0] in brief
        )
        assert " ".join(option.help.split()) in " ".join(full.split()).replace("- ", "-")


def test_without_a_command_all_are_listed_and_the_exit_code_is_2(said: Said) -> None:
    code, out, err = said()
    assert (code, err) == (2, "")
    for name in commands.COMMANDS:
        assert f"\n  {name} " in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compar"], "No such command 'compar'. Did you mean 'compare'?"),
        (["foo"], "No such command 'foo'. Try --help."),
        (["--versio"], "No such option: --versio (Possible options: --version)"),
        (
            ["report", "--markdwon", "x"],
            "No such option: --markdwon (Possible options: --markdown)",
        ),
        (["plot", "-x"], "No such option: -x Try --help."),
        (["compare", "a", "-s", "dynmic"], "no scenario (did you mean 'dynamic'?)."),
        (["compare", "a", "--set", "intervall=1"], "parameter (did you mean 'interval'?)."),
        (["compare", "a", "--topology", "clster"], "bytewax (did you mean 'cluster'?)."),
        (["compare", "a", "b", "--fail-on", "idel:1%"], "'idel' (did you mean 'idle'?)."),
    ],
)
def test_a_name_that_is_almost_right_is_proposed(
    arguments: list[str], says: str, said: Said
) -> None:
    code, out, err = said(*arguments)
    assert (code, out) == (2, "")
    assert says in err
