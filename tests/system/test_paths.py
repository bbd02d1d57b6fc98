"""Where things are kept, in a clone and elsewhere, and how installations are told apart."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from waitbench.system import installation
from waitbench.system.paths import PACKAGE, ROOT


def folders(**variables: str) -> list[str]:
    """Where a process with these variables keeps its cache and its results."""
    code = "from waitbench.system.paths import *; print(Cache().root); print(RESULTS)"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("BENCH", "XDG"))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/",
        env={**inherited, "PYTHONPATH": str(PACKAGE.parent), **variables},
    )  # fmt: skip
    return done.stdout.splitlines()


def test_a_clone_keeps_everything_in_itself_and_a_variable_names_another_folder() -> None:
    in_clone = [str(ROOT / ".bench"), str(ROOT / "results")]
    assert folders(XDG_CACHE_HOME="/tmp/x") == in_clone
    assert folders(BENCH_HOME="/tmp/home") == ["/tmp/home/cache", "/tmp/home/results"]
    assert folders(BENCH_HOME="tmp/home") == ["/tmp/home/cache", "/tmp/home/results"]
    assert folders(BENCH_HOME="~/x", HOME="/tmp") == ["/tmp/x/cache", "/tmp/x/results"]


@pytest.mark.parametrize(
    ("installed", "prefix", "expected"),
    [
        (False, "/usr", ["./compare.sh", "./plot.sh", "./waitbench doctor"]),
        (True, "/usr", ["waitbench compare", "waitbench plot", "waitbench doctor"]),
        (
            True, "/home/x/.cache/uv/archive-v0/Ab",
            ["uvx waitbench compare", "uvx waitbench plot", "uvx waitbench doctor"],
        ),
    ],
)  # fmt: skip
def test_a_command_is_named_as_users_type_it_where_they_are(
    installed: bool, prefix: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "IS_INSTALLED", installed)
    monkeypatch.setattr(sys, "prefix", prefix)
    assert [installation.called(command) for command in ("compare", "plot", "doctor")] == expected
    written = "./compare.sh a b   # or ./plot.sh\n./waitbench doctor"
    assert installation.as_called(written) == (
        f"{expected[0]} a b   # or {expected[1]}\n{expected[2]}"
    )


def test_sources_are_told_apart_by_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text("1")
    digests = [installation.digest(tmp_path)]
    (tmp_path / "deep" / "b.pyc").touch()
    assert installation.digest(tmp_path) == digests[0]
    (tmp_path / "deep" / "b.py").write_text("2")
    digests.append(installation.digest(tmp_path))
    (tmp_path / "deep" / "b.py").rename(tmp_path / "b.py")
    digests.append(installation.digest(tmp_path))
    (tmp_path / "deep" / "c.py").touch()
    assert len({*digests, installation.digest(tmp_path)}) == 4
