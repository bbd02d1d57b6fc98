"""What is judged."""

from tests.records import contestant, make_record
from waitbench.analysis import statistics


def test_work_is_judged_by_total_cpu_where_engines_do_it_in_other_phases() -> None:
    revisions = (contestant("a", engine="one"), contestant("b", engine="two"))
    found = {
        "a": [{"time_cpu": 5.0, "time_cpu_steady": 4.9}] * 3,
        "b": [{"time_cpu": 5.0, "time_cpu_steady": 0.01}] * 3,
    }
    for waits, works, by in ((True, False, "steady"), (False, True, "cpu"), (True, True, "cpu")):
        record = make_record(found, waits=waits, revisions=revisions)
        record.works = works
        assert statistics.compare(record).rows[1].judged_by == by
