"""``--why`` as a user would ask for it: what it shows, and that nothing else changes by it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import standin
from tests.conftest import Compare
from waitbench.store import why

pytestmark = pytest.mark.integration
ARGUMENTS = ("-s", "dynamic", "--rounds", "2", "--no-plot")

NOTES = """do
import shutil
from pathlib import Path
of_test = Path({folder!r})
with (of_test / "starts").open("a") as file:
    print(json.dumps([sys.argv, dict(os.environ)]), file=file)
if "BENCH_WAITING" in os.environ:
    shutil.copytree(of_test / "results", of_test / "as-measured", dirs_exist_ok=True)
"""
"""Notes how each run is started, and what the results are before the first that is not measured."""


def starts(folder: Path) -> list[Any]:
    """The arguments and the environment of each run, without what each has for itself."""
    found = []
    for row in (folder / "starts").read_text().splitlines():
        arguments, environment = json.loads(row)
        assert not set(arguments) & {"--why", "why"}
        # hyperfine shifts the stack of each run by chance.
        environment.pop("HYPERFINE_RANDOMIZED_ENVIRONMENT_OFFSET", None)
        found.append([arguments, {name: _plain(text) for name, text in environment.items()}])
    (folder / "starts").unlink()
    return found


def _plain(text: str) -> str:
    return re.sub(r"/runs/[^/\s]+|\b[0-9a-f]*\d[0-9a-f]*\b|/tmp/\S+", "…", text)


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def without_figures(files: dict[str, bytes]) -> dict[str, str]:
    """What files say apart from what is measured: times, sizes, and when."""
    # Not at the edges of words alone: the hour of a time stands behind its T.
    number = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    return {name: re.sub(number, "0", text.decode()) for name, text in files.items()}


def test_measured_runs_and_their_files_are_those_of_a_comparison_without_it(
    run_compare: Compare, tmp_path: Path
) -> None:
    notes = NOTES.format(folder=str(tmp_path))
    revisions = [
        standin.revision(tmp_path / one, f"{notes}# {one}", one) for one in ("first", "second")
    ]
    results = tmp_path / "results"
    plain = run_compare(*revisions, *ARGUMENTS)
    assert plain.returncode == 0, plain.stderr
    before, started = contents(results), starts(tmp_path)
    results.rename(tmp_path / "without")
    explained = run_compare(*revisions, *ARGUMENTS, "--why")
    assert explained.returncode == 0, explained.stderr
    after, extra = contents(results), starts(tmp_path)
    # One run more of each revision, after all that are measured; these are started alike.
    assert len(extra) == len(started) + 2
    assert extra[: len(started)] == started
    assert ["BENCH_WAITING" in environment for _, environment in extra] == [
        *(False for _ in started), True, True,
    ]  # fmt: skip
    # Its own files are all that is there besides, and the others say what they say without it.
    own = {path.name for path in why.paths(results)}
    others = {name: content for name, content in after.items() if name not in own}
    asked = re.compile(rb',\s*"--why"')
    assert asked.search(others["comparison.json"]) is not None
    others["comparison.json"] = asked.sub(b"", others["comparison.json"])
    assert without_figures(others) == without_figures(before)
    # What was on disk before it is the same in the end, byte for byte, but that all is finished.
    measured = contents(tmp_path / "as-measured")
    measured["comparison.json"] = measured["comparison.json"].replace(
        b'"finished": false', b'"finished": true'
    )
    assert measured == {name: after[name] for name in ("comparison.json", "runs.jsonl")}
    assert "who wakes up while it waits" in explained.stdout
