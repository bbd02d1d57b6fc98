"""What is installed beside a revision."""

from pathlib import Path

import pytest

from tests import standin
from waitbench import engines
from waitbench.engines.base import Engine
from waitbench.environments import virtualenvs
from waitbench.environments.virtualenvs import Maker
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin
from waitbench.model.errors import HarnessError
from waitbench.model.revision import Release, Revision
from waitbench.system.places import Cache

NEEDED = ("confluent-kafka==2.16.1", "requests==2.32.3")


class Client(standin.StandIn):
    """An engine whose package is one that workloads need."""

    package = "confluent-kafka"


def spec(*beside: str) -> EnvironmentSpec:
    revision = Revision(
        label="a", text="a", engine="standin", source=Release("1"), beside=tuple(beside)
    )
    return EnvironmentSpec(
        revision=revision, origin=Origin.WHEEL, python=Interpreter("python", "3.11.7"),
        commit=None, commit_date=None, wheel=Path(__file__),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "beside", "expected"),
    [
        (standin.StandIn(), (), NEEDED),
        (
            standin.StandIn(),
            ("Confluent_Kafka==2.9.0",),
            ("requests==2.32.3",),
        ),
        (Client(), (), ("requests==2.32.3",)),
    ],
)
def test_what_a_revision_names_and_what_is_under_test_replace_what_workloads_need(
    engine: Engine, beside: tuple[str, ...], expected: tuple[str, ...], cache: Cache
) -> None:
    maker = Maker(engine=engine, repository=None, cache=cache, requirements=NEEDED)
    assert maker._needed(spec(*beside)) == expected
    assert (maker._key(spec(*beside), None) == maker._key(spec(), None)) is (beside == ())


@pytest.mark.parametrize(
    ("engine", "module", "said"),
    [
        (
            "standin",
            "pkg_resources",
            r"^it needs pkg_resources, .* name a\+setuptools==80\.9\.0\.",
        ),
        ("standin", "distutils", r"^it needs distutils, .*: name a\+setuptools==80\.9\.0\."),
        (
            "bytewax",
            "bytewax.run",
            r"^it has no module bytewax\.run: 0\.16\.0 is the oldest of",
        ),
        ("standin", "standin.run", "ModuleNotFoundError: No module named 'standin.run'"),
    ],
)
def test_what_an_installed_revision_lacks_is_said_with_what_mends_it(
    engine: str, module: str, said: str, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = Maker(engine=engines.named(engine), repository=None, cache=cache)
    log = cache.folder("logs") / "one.log"

    def fail_last(arguments: list[str], log: Path, **_more: object) -> None:
        if "-c" in arguments:
            text = f"ModuleNotFoundError: No module named '{module}'"
            log.write_text(f"Traceback (most recent call last):\n  File a\n{text}\n")
            raise HarnessError(text)

    monkeypatch.setattr(virtualenvs, "run_logged", fail_last)
    folder = cache.folder("environment")
    with pytest.raises(HarnessError, match=said) as raised:
        maker._install(spec(), ["stand-in==1"], folder, log)
    assert "Traceback" not in str(raised.value)
