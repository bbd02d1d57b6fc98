"""Networks that are not there, and such as never answer."""

from pathlib import Path

import pytest

from tests.faults.clones import QUICK, Clone

pytestmark = pytest.mark.integration

IMPATIENT = {"PIP_RETRIES": "0", "PIP_TIMEOUT": "1", "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": ""}


@pytest.mark.parametrize("address", ["silent", "closed"])
def test_a_network_that_does_not_answer_is_a_sentence(
    address: str, shared_clone: Clone, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    at = f"http://{request.getfixturevalue(address)}"
    index = {**IMPATIENT, "PIP_INDEX_URL": f"{at}/simple"}
    options = [*QUICK, "--results", tmp_path / "results"]
    done = shared_clone.run("r0.0.3", *options, env=index)
    assert (done.returncode, "does not answer for stand-in" in done.stderr) == (3, True), done
    if address == "closed":
        done = shared_clone.run("main", "--repo", f"{at}/repository.git", *options)
        assert (done.returncode, "Name another copy" in done.stderr) == (2, True), done
