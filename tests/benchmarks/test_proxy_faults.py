"""All faults of the proxy's trial, for a short while each; and whether the trial would notice."""

import json
from pathlib import Path

import pytest

from benchmarks import proxy_faults
from benchmarks.faults import FAULTS, Fault
from benchmarks.proxy_faults import Seen, what_is_wrong
from benchmarks.upstreams import vector


@pytest.mark.integration
def test_under_every_fault_all_is_answered_rightly_or_refused_with_a_reason(
    services_python: Path, tmp_path: Path
) -> None:
    seen: dict[str, Seen] = {}

    def tell(fault: Fault, what: Seen) -> None:
        seen[fault.name] = what

    proxy_faults.run(services_python, tmp_path, 20, 0.2, 0.5, tell)
    assert len(seen) == len(FAULTS) == 24
    assert {name: what.wrong for name, what in seen.items() if what.wrong} == {}
    assert all(what.statuses for what in seen.values())
    assert "Traceback" not in (tmp_path / "service-proxy.log").read_text()


ASKED = b'{"inputs": ["a"], "normalize": false}'
RIGHT = [vector("a", {"normalize": False})]


def test_a_right_answer_and_a_refusal_with_a_reason_are_not_wrong() -> None:
    assert what_is_wrong(ASKED, {200}, 200, json.dumps(RIGHT).encode()) is None
    refusal = b'{"error": "busy", "error_type": "Overloaded"}'
    assert what_is_wrong(ASKED, {200, 429}, 429, refusal) is None


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (200, [vector("a", {})], "other vectors"),
        (200, [vector("b", {"normalize": False})], "other vectors"),
        (200, [], "other vectors"),
        (503, {"error": "gone", "error_type": "Unhealthy"}, "status 503"),
        (429, {"error": "busy"}, "no reason"),
    ],
)
def test_other_vectors_and_what_no_fault_explains_are_wrong(
    status: int, content: object, said: str
) -> None:
    problem = what_is_wrong(ASKED, {200, 429}, status, json.dumps(content).encode())
    assert problem is not None
    assert said in problem


def test_memory_that_grows_after_warming_up_does_not_hold() -> None:
    seen = Seen()
    for share, mib in ((0.1, 60), (0.3, 100), (0.4, 90), (0.6, 70), (0.9, 109)):
        seen.look(share, mib)
    assert seen.holds
    seen.look(1.1, 111)
    assert not seen.holds
