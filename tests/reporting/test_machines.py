"""Where scenarios were measured, and what people read of several machines."""

from msgspec.structs import replace

from tests.records import make_record
from tests.reporting.made_up import page_of
from waitbench.model.record import Record
from waitbench.reporting import machines

SMALL = {"cpu": "Small", "cpus": 1, "fingerprint": "aaaa"}
LARGE = {"cpu": "Large", "cpus": 8, "fingerprint": "bbbb"}


def records() -> list[Record]:
    one, two = (make_record({"a": [], "b": []}, scenario=it, machine=SMALL) for it in ("x", "y"))
    return [one, replace(two, machine=LARGE)]


def test_where_each_scenario_was_measured_is_said_if_that_was_on_several_machines() -> None:
    one, two = records()
    assert machines.where_measured([one, two]) == (
        "Measured on 2 machines, no scenario on two of them: x on Small, 1 CPU (aaaa); y on Large, "
        "8 CPUs (bbbb)."
    )
    assert machines.where_measured([one]) is None


def test_the_page_says_it_too() -> None:
    one, two = records()
    facts = dict(page_of(one, two).sections[-1].facts)
    assert facts["machines"] == machines.where_measured([one, two])
    assert "machines" not in dict(page_of(one).sections[-1].facts)
