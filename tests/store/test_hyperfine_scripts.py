"""Hyperfine's own scripts, of both lines, as released: they read our files like its own."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.records import make_record, times
from tests.running import run
from tests.store.keeping import finish

VERSIONS = ("1.20.0", "2.0.0")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="the scripts come by cargo"),
]


def printed(*command: object, folder: Path) -> str:
    done = run(*command, cwd=folder, env={"MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of the scripts of each version, out of the released crates."""
    crate = tmp_path_factory.mktemp("crate")
    (crate / "src").mkdir()
    (crate / "src" / "lib.rs").touch()
    dependencies = "".join(
        f'of_{number} = {{ package = "hyperfine", version = "={version}" }}\n'
        for number, version in enumerate(VERSIONS)
    )
    (crate / "Cargo.toml").write_text(
        f'[package]\nname = "scripts"\nversion = "0.0.0"\n[dependencies]\n{dependencies}'
    )
    # Of any platform: what it is, and what it needs there, is not built.
    printed("cargo", "fetch", "--target", "x86_64-unknown-linux-gnu", folder=crate)
    sources = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    paths = {version: list(sources.glob(f"*/hyperfine-{version}/scripts")) for version in VERSIONS}
    return {version: folders[0] for version, folders in paths.items()}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A file of ours, of two revisions and as many rounds as there are without ``--rounds``."""
    reals = (1.0, 1.5, 1.25, 1.25, 1.25)
    record = make_record(
        {
            "v1": [times(real, 0.5, real / 8) for real in reals],
            "v2": [times(real + 1, 1.5, real / 8) for real in reals],
        }
    )
    finish(tmp_path, record)
    return tmp_path / "waiting.json"


@pytest.mark.parametrize("version", VERSIONS)
def test_its_charts_are_drawn_and_its_statistics_are_ours(
    version: str, scripts: dict[str, Path], export: Path
) -> None:
    folder, chart = scripts[version], export.with_suffix(".svg")
    drawing = {path.name for path in folder.glob("plot_*.py")} - {"plot_utils.py"}
    if version == "2.0.0":
        # It wants each parameter as an object, that of 1.x a string: no file suits both.
        drawing.remove("plot_parametrized.py")
    for name in drawing:
        printed(sys.executable, folder / name, export, "-o", chart, folder=export.parent)
        assert "<svg" in chart.read_text()
        chart.unlink()
    script = folder / "advanced_statistics.py"
    lines = printed(sys.executable, script, export, folder=export.parent).split("\n")
    means = [line.split()[1] for line in lines if line.split()[:1] == ["mean:"]]
    assert means == ["1.250", "2.250"]
