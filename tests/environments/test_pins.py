"""Which packages stand beside a wheel in the versions that workloads are pinned to."""

import zipfile
from pathlib import Path

import pytest

from waitbench.environments.virtualenvs import accepted
from waitbench.model.environment import Interpreter
from waitbench.model.errors import HarnessError

PYTHON = Interpreter("python", "3.11.7")
PINS = ("confluent-kafka==2.16.1", "requests==2.32.3")


def wheel(folder: Path, *asked: str) -> Path:
    path = folder / "x-1-py3-none-any.whl"
    lines = ["Metadata-Version: 2.1", "Name: x", "Version: 1"]
    lines += [f"Requires-Dist: {text}" for text in asked]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x-1.dist-info/METADATA", "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("asked", "given_up"),
    [
        ((), ()),
        (("confluent_kafka[avro]<2.13,>=2.8.2", "requests>=2.32"), PINS[:1]),
        (("Confluent-Kafka>=2.8.2",), ()),
        (("requests",), ()),
        # An extra that nobody asks for, another Python, another package.
        (("confluent-kafka<=2.0.2; extra == 'kafka'",), ()),
        (("confluent-kafka<2.5; python_version < '3.11'",), ()),
        (("confluent-kafka<2.5; python_version >= '3.11'",), PINS[:1]),
        (("kafka<1",), ()),
    ],
)
def test_a_pin_gives_way_to_what_the_wheel_cannot_be_without(
    tmp_path: Path, asked: tuple[str, ...], given_up: tuple[str, ...]
) -> None:
    kept = accepted(PINS, wheel(tmp_path, *asked), PYTHON)
    assert kept == tuple(pin for pin in PINS if pin not in given_up)


def test_a_pin_gives_way_to_an_extra_that_is_wanted(tmp_path: Path) -> None:
    asked = wheel(tmp_path, "confluent-kafka<=2.0.2; extra == 'kafka'")
    assert accepted(PINS, asked, PYTHON, ["kafka"]) == PINS[1:]


def test_what_is_not_a_wheel_is_an_error_of_that_revision(tmp_path: Path) -> None:
    broken, empty = tmp_path / "broken.whl", tmp_path / "empty.whl"
    broken.write_bytes(b"no archive")
    zipfile.ZipFile(empty, "w").close()
    for path in (broken, empty, tmp_path / "absent.whl"):
        with pytest.raises(HarnessError, match=f"{path.name} is not a readable wheel"):
            accepted(PINS, path, PYTHON)
