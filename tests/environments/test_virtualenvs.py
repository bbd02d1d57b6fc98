"""What is installed beside a revision."""

from pathlib import Path

import pytest

from tests import standin
from waitbench.engines.base import Engine
from waitbench.environments.virtualenvs import Maker
from waitbench.model.environment import EnvironmentSpec, Interpreter
from waitbench.model.revision import Origin, Revision, Source
from waitbench.system.places import Cache

NEEDED = ("confluent-kafka==2.16.1", "requests==2.32.3")


class StandIn(standin.StandIn):
    requirements = NEEDED


class Client(StandIn):
    """An engine whose package is one that workloads need."""

    package = "confluent-kafka"


def spec(*beside: str) -> EnvironmentSpec:
    revision = Revision(
        label="a",
        text="a",
        engine="standin",
        source=Source(Origin.WHEEL, "1"),
        beside=tuple(beside),
    )
    return EnvironmentSpec(
        revision=revision, origin=Origin.WHEEL, python=Interpreter("python", "3.11.7"),
        commit=None, commit_date=None, wheel=Path(__file__),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "beside", "pins"),
    [
        (StandIn(), (), NEEDED),
        (StandIn(), ("Confluent_Kafka==2.9.0",), ("requests==2.32.3",)),
        (Client(), (), ("requests==2.32.3",)),
    ],
)
def test_what_a_revision_names_and_what_is_under_test_replace_what_workloads_need(
    engine: Engine, beside: tuple[str, ...], pins: tuple[str, ...], cache: Cache
) -> None:
    maker = Maker(engine=engine, cache=cache)
    required = [f"{engine.package} @ w.whl", *beside, *pins]
    assert maker._required(spec(*beside), "w.whl") == required
    assert (maker._key(spec(*beside)) == maker._key(spec())) is (beside == ())
