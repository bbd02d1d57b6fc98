"""The table of family ``kafka``: what is in each cell."""

from dataclasses import replace
from pathlib import Path

from tests.records import contestant, context, make_record, measurement
from waitbench.families.kafka import MODULE
from waitbench.families.kafka.tables import tables
from waitbench.model.record import Record
from waitbench.store.comparisons import Contents


def made(name: str) -> Record:
    return Record(scenario=name, family="kafka", parameters={}, context=context(["a", "b"]))


def test_a_line_says_what_waiting_and_a_message_cost() -> None:
    record = made("kafka-long-input")
    metrics = {
        "cpu_share_steady": 0.05, "time_cpu_steady": 0.2, "items_out": 400.0,
        "item_latency_p50": 0.004, "item_latency_p99": 1.5, "broker_delay_p50": 0.002,
        "service_cpu_broker": 0.3, "worker_threads": 65.0,
    }  # fmt: skip
    record.add(measurement("a", 1, metrics))
    (table,) = tables([record])
    assert table.rows == (
        ("a", "5", "0.5", "4", "1,500", "2", "0.3", "65"),
        ("b", *("–",) * 7),
    )
    assert len(table.notes) == 1


def test_without_messages_there_is_no_lateness_and_a_users_broker_is_named() -> None:
    record = made("kafka-idle")
    record.add(
        measurement("a", 1, {"cpu_share_steady": 0.001, "time_cpu_steady": 0.005, "items_out": 0.0})
    )
    (table,) = tables([record])
    assert table.rows[0] == ("a", "0.1", *("–",) * 6)
    assert "user's own" in table.notes[1]


def test_engines_stand_side_by_side_in_what_all_scenarios_say() -> None:
    revisions = (contestant("a", engine="one"), contestant("b", engine="two"))
    run = {
        "cpu_share_steady": 0.05, "time_cpu_steady": 0.25, "items_out": 100.0,
        "item_latency_p50": 0.001, "item_latency_p99": 0.002, "worker_threads": 5.0,
    }  # fmt: skip
    runs = {"a": [run], "b": [{**run, "cpu_share_steady": 0.1, "worker_threads": 2.0}]}
    records = tuple(
        replace(make_record(runs, scenario=name, revisions=revisions), family="kafka")
        for name in ("kafka-idle", "kafka-burst", "kafka-long-input", "kafka-busy")
    )
    contents = Contents(folder=Path(), context=records[0].context, records=records)
    costs, message, start = MODULE.tables(contents)[len(records) :]
    assert costs.title == "kafka · what waiting costs, % of a core · means"
    assert costs.header == ("revision", "idle", "bursts", "messages due")
    assert costs.rows == (("a", "5", "5", "5"), ("b", "10", "10", "10"))
    assert message.header == ("revision", "CPU, waiting", "CPU, busy", "late, median", "late, p99")
    assert message.rows[0] == ("a", "2.5", "2.5", "1", "2")
    assert (start.header, start.rows) == (("revision", "threads"), (("a", "5"), ("b", "2")))
    assert list(MODULE.figures(contents)) == ["kafka"]
