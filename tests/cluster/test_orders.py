"""An order makes the same request of another machine."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests import standin
from waitbench.analysis.criteria import DEFAULTS
from waitbench.cluster.orders import Order, build, unit_of
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import UsageError
from waitbench.pipeline.concluding import Output
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import Measuring
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.reporting.progress import PreparationLog
from waitbench.system import installation
from waitbench.system.places import Cache

PROGRESS = Output(quiet=True, as_json=True).progress
SAY = PreparationLog(PROGRESS, quiet=True)
MEASURING = Measuring(
    gate=Gate(
        criteria=DEFAULTS, most_rounds=10, budget_s=90.0, fail_fast=True, inconclusive_passes=True
    ),
    rounds=5,
    extras=Extras(),
    sharing=2,
)


@pytest.fixture
def valid(tmp_path: Path) -> ValidRequest:
    request = Request(
        revisions=(standin.revision(tmp_path, label="A"), standin.revision(tmp_path, label="B")),
        scenarios=("dynamic", "partitioned"),
        settings=("seed=7",),
        topology=None,
        processes=1,
        workers=2,
        origin=OriginChoice.AUTO,
        python=None,
        repo=None,
        time_limit_s=9.0,
        instrumented=False,
        argv=("compare", "…"),
    )
    return validate(request, SAY, quick=True)


def received(order: Order, folder: Path) -> Order:
    """The order as another machine reads it, with the wheels that it is sent."""
    _, wheels = build(order.request, PROGRESS, SAY)
    for digest, content in wheels.contents.items():
        (folder / digest).write_bytes(content)
    return Order.decode(order.encode(wheels.by_label), folder, Cache(folder))


def ordered(valid: ValidRequest) -> Order:
    return Order(
        request=unit_of(valid, "dynamic"),
        measuring=MEASURING,
        budget_s=30.0,
        passed_variables=("NAME",),
    )


def test_all_that_is_asked_arrives(valid: ValidRequest, tmp_path: Path) -> None:
    order = ordered(valid)
    found = received(order, tmp_path)
    assert found.measuring == order.measuring
    assert (found.budget_s, found.passed_variables) == (30.0, ("NAME",))
    same = ("scenarios", "share", "topology", "time_limit_s", "instruments", "argv", "labels")
    for name in same:
        assert getattr(found.request, name) == getattr(order.request, name), name
    assert found.measuring.settings(found.request) == order.measuring.settings(order.request)


def test_a_wheel_comes_under_its_own_name_and_keeps_its_origin(
    valid: ValidRequest, tmp_path: Path
) -> None:
    for here, there in zip(
        valid.specs, received(ordered(valid), tmp_path).request.specs, strict=True
    ):
        assert here.wheel is not None and there.wheel is not None
        assert there.wheel != here.wheel
        assert there.wheel.name == here.wheel.name
        assert there.wheel.read_bytes() == here.wheel.read_bytes()
        assert (there.origin, there.identity) == (here.origin, here.identity)
        assert there.identity == hashlib.sha256(there.wheel.read_bytes()).hexdigest()


def test_a_machine_without_that_python_says_so(valid: ValidRequest, tmp_path: Path) -> None:
    other = replace(valid.specs[0], python=replace(valid.specs[0].python, version="3.9.999"))
    with pytest.raises(UsageError, match=r"3\.9\.999"):
        received(ordered(replace(valid, specs=(other,))), tmp_path)


def test_sources_that_changed_since_the_worker_was_started_are_noticed(
    valid: ValidRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ordered(valid).encode({})
    monkeypatch.setattr(installation, "version", lambda: "0+later")
    with pytest.raises(UsageError, match="start the node again"):
        Order.decode(line, tmp_path, Cache(tmp_path))
