"""What bytewax's builds look at."""

import pytest

from waitbench.engines.bytewax import Bytewax


@pytest.mark.parametrize(
    "path",
    [
        "src/lib.rs", "src/docs/guide.md", "pysrc/bytewax/run.py", "Cargo.toml", "Cargo.lock",
        "pyproject.toml", "rust-toolchain.toml", "build.rs", "vendor/timely/src/lib.rs",
        "migrations/20230206170933_initial.sql", ".cargo/config.toml", "setup.cfg",
    ],
)  # fmt: skip
def test_what_a_build_may_look_at_is_an_input(path: str) -> None:
    assert Bytewax().affects_build(path)


@pytest.mark.parametrize(
    "path",
    [
        "docs/guide\n.md", "examples/simple.py", "pytests/test_run.py", "CHANGELOG.md",
        ".github/workflows/CI.yml", "Dockerfile.release", "requirements/dev.txt",
    ],
)  # fmt: skip
def test_what_no_build_looks_at_is_not(path: str) -> None:
    assert not Bytewax().affects_build(path)
