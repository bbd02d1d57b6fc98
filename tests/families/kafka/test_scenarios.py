"""Family ``kafka``: what runs need, what they must give, and who may run them."""

from pathlib import Path

import pytest

from waitbench import engines
from waitbench.execution.services import prepare
from waitbench.families.kafka import BROKER_VARIABLE, FAMILY, SCENARIOS, broker
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.scenario import KAFKA, ServicePlan, Topology
from waitbench.system.places import Cache

ONE = Topology("single")
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def plan_of(name: str) -> ServicePlan:
    assert FAMILY.services is not None
    return FAMILY.services(BY_NAME[name].parameters)


@pytest.fixture(autouse=True)
def no_broker_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BROKER_VARIABLE, raising=False)


def test_every_scenario_is_run_when_named_only_and_needs_an_input_of_the_engines_own() -> None:
    assert all(not one.by_default and one.needs == {KAFKA} for one in SCENARIOS)
    items = {one.name.removeprefix("kafka-"): one.expected_items(ONE) for one in SCENARIOS}
    assert items == {"idle": 0, "long-input": 320, "burst": 640, "busy": 64_000, "ended": 300}
    waiting = {one.name for one in SCENARIOS if one.waits}
    assert waiting == set(BY_NAME) - {"kafka-busy"}
    assert [one.name for one in SCENARIOS if one.works] == ["kafka-busy"]


def test_a_broker_is_kept_up_and_each_run_has_a_producer_of_its_own() -> None:
    first, second = plan_of("kafka-ended").services
    assert (first.name, first.is_kept, second.name, second.is_kept) == (
        "broker", True, "producer", False
    )  # fmt: skip
    assert second.upstream_variable == "BROKER"
    assert (second.settings["SILENT"], second.settings["IDLE"]) == ("1", "5.0")


def test_a_broker_of_the_users_stands_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BROKER_VARIABLE, "example.org:9092")
    found = plan_of("kafka-idle")
    assert (found.url, [one.name for one in found.services]) == (
        "kafka://example.org:9092", ["producer"]
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "9092", "host", "host:", ":1", "host:0", "http://host:80/x"])
def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(BROKER_VARIABLE, text)
    with pytest.raises(UsageError, match="not HOST:PORT"):
        plan_of("kafka-idle")


def test_a_broker_of_the_users_that_is_not_there_is_named_with_what_was_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for address, why in (("127.0.0.1:1", "refused"), ("no-such-host.invalid:9092", "")):
        monkeypatch.setenv(BROKER_VARIABLE, address)
        with pytest.raises(HarnessError, match=f"^BENCH_KAFKA={address}: .*{why}.* BENCH_KAFKA"):
            prepare(plan_of("kafka-idle"), Cache(tmp_path), lambda _what: None)


def test_without_java_or_maven_it_is_said_what_installs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HarnessError, match=r"takes Java.*apt-get install.*BENCH_KAFKA"):
        broker.prepare(tmp_path, lambda _what: None)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(HarnessError, match="Java 17 or later, and here is 11"):
        broker.prepare(tmp_path, lambda _what: None)
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n")
    said: list[str] = []
    with pytest.raises(HarnessError, match=r"Maven.*apt-get install"):
        broker.prepare(tmp_path, said.append)
    assert said == [], "nothing is fetched"


def test_what_is_fetched_is_pinned() -> None:
    digests = broker._digests()
    assert f"kafka_2.13-{broker.VERSION}.jar" in digests
    assert all(len(digest) == 64 for digest in digests.values())
    pom = (broker._SOURCES / "pom.xml").read_text()
    assert f"<version>{broker.VERSION}</version>" in pom


@pytest.mark.parametrize(
    ("file", "has"), [("kafka.py", True), ("kafka/__init__.py", True), ("", False)]
)
def test_bytewax_has_an_input_where_its_package_has(tmp_path: Path, file: str, has: bool) -> None:
    if file:
        (tmp_path / "connectors" / file).parent.mkdir(parents=True)
        (tmp_path / "connectors" / file).touch()
    assert (KAFKA in engines.DEFAULT.traits(tmp_path).capabilities) is has


@pytest.mark.parametrize("name", ["consumer", "faust", "quixstreams"])
def test_what_reads_from_a_broker_alone_runs_nothing_else(name: str) -> None:
    engine = engines.named(name)
    assert engine.only == KAFKA
    assert engine.traits(Path()).capabilities == {KAFKA}
