"""The files that a build of bytewax looks at."""

from pathlib import Path

from tests import standin
from waitbench.engines.bytewax import Bytewax

INPUTS = {
    "src/lib.rs", "src/docs/guide.md", "pysrc/bytewax/run.py", "Cargo.toml", "Cargo.lock",
    "pyproject.toml", "rust-toolchain.toml", "build.rs", "vendor/timely/src/lib.rs",
    "migrations/20230206170933_initial.sql", ".cargo/config.toml", "setup.cfg",
}  # fmt: skip
OTHERS = {
    "docs/guide.md", "examples/simple.py", "pytests/test_run.py", "CHANGELOG.md",
    ".github/workflows/CI.yml", "Dockerfile.release", "requirements/dev.txt",
}  # fmt: skip


def test_a_build_looks_at_the_sources_and_not_at_documents_or_tests(tmp_path: Path) -> None:
    standin.git(tmp_path, "init", "--quiet")
    for name in INPUTS | OTHERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    standin.git(tmp_path, "add", "--all")
    listed = standin.git(tmp_path, "ls-files", "--", *Bytewax().build_paths)
    assert {*listed.splitlines()} == INPUTS
