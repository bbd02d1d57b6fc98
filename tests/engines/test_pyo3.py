"""Which Pythons a source tree with PyO3 builds for."""

import pytest

from waitbench.engines import pyo3
from waitbench.model.environment import Interpreter


def supported(files: dict[str, str]) -> list[str]:
    minors = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
    return [m for m in minors if pyo3.supports(Interpreter("/python", f"{m}.1"), files.get)]


@pytest.mark.parametrize(
    ("version", "newest"),
    [("0.17.2", "3.11"), ("0.21.1", "3.12"), ("0.25.1", "3.14"), ("9.9.9", "3.14")],
)
def test_the_locked_pyo3_limits_the_newest_python(version: str, newest: str) -> None:
    packages = {"other": "1.0", "pyo3": version}
    lock = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{number}"\n' for name, number in packages.items()
    )
    assert supported({"Cargo.lock": lock})[-1] == newest


def test_requires_python_limits_both_ends() -> None:
    project = '[project]\nname = "x"\nrequires-python = ">=3.10,<3.12"\n'
    assert supported({"pyproject.toml": project}) == ["3.10", "3.11"]


@pytest.mark.parametrize("text", ["", "not = [toml", '[project]\nrequires-python = "soon"\n'])
def test_what_cannot_be_read_is_left_to_the_build(text: str) -> None:
    assert len(supported({"pyproject.toml": text, "Cargo.lock": "not = [toml"})) == 6
