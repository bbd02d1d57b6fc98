"""Every command of every document is understood, and is run: by a program of ours, or by a test."""

import re
import shlex
from typing import Any

import pytest
import typer

import runner
from benchmarks import documents
from waitbench.engines.worker import file as worker_file
from waitbench.system.paths import ROOT

EVERY = documents.every_command()
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(runner.make_app()), "commands")  # noqa: B009
KEPT = documents.parts_of((ROOT / "docs" / "trials" / "documents.txt").read_text("utf-8"))
OURS = r"(?:\w+=\S+ )*\./(?:(compare|plot)\.sh|waitbench ([a-z-]+))(?: (.*))?"
EACH = pytest.mark.parametrize("command", EVERY)


@pytest.mark.parametrize("command", [*EVERY, *documents.SHORTENED.values()])
def test_the_command_line_understands_it(command: str) -> None:
    ours = re.fullmatch(OURS, command)
    if ours is None:
        assert not command.startswith(("./compare", "./plot", "./waitbench"))
        return
    name = ours[1] or ours[2]
    # Raises for an option that is not there, and for a value that it does not take.
    COMMANDS[name].make_context(name, shlex.split(ours[3] or ""))


@EACH
def test_it_was_run_and_ended_as_its_document_says_or_a_test_runs_it(command: str) -> None:
    not_run = documents.why_not_run(command)
    if not_run is None:
        assert command in KEPT, "benchmarks/documents.py docs/trials/documents.txt PART-OF-IT"
        assert documents.exit_code_in(KEPT[command]) == documents.FAILING.get(command, 0)
        called = documents.SHORTENED.get(command)
        assert called is None or f"as: {called}\n" in KEPT[command]
    else:
        path, _, name = not_run[1].partition("::")
        assert re.search(rf"^def {name}", (ROOT / path).read_text("utf-8"), re.MULTILINE)


def test_nothing_is_told_of_a_command_that_no_document_has() -> None:
    told = {*documents.SHORTENED, *documents.TESTED, *documents.FAILING}
    assert told - set(EVERY) == set()
    for pattern, _, _ in documents.ELSEWHERE:
        assert any(re.match(pattern, command) for command in EVERY), pattern


def test_the_files_of_a_reader_are_made(tmp_path: Any) -> None:
    documents.fill(tmp_path)
    assert worker_file.read(tmp_path / "mine.toml").command == ("{revision}", "--port", "{port}")
    assert (tmp_path / "worker-1.2").is_file()


def test_prompts_comments_and_continued_lines_are_read_as_a_shell_reads_them(
    tmp_path: Any,
) -> None:
    path = tmp_path / "one.md"
    path.write_text(
        "```console\n./a --x \\\n    'b c'   # why\n# a remark\n./d#e\n```\n"
        "```console\n$ ./f\noutput\n```\n```python\n./g\n```\n"
    )
    assert documents.commands(path) == ["./a --x 'b c'", "./d#e", "./f"]
