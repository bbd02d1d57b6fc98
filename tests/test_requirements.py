"""What is installed: locked in full, with hashes, as the .in files ask for."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from waitbench.system.places import ROOT

CHOSEN = sorted(ROOT.glob("requirements*.in"))


def locked(path: Path) -> list[Requirement]:
    """What a lock names; each with a hash at least."""
    entries = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", "")
    found = []
    for entry in entries.splitlines():
        what, *hashes = entry.split(" --hash=")
        assert hashes, entry
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), entry
        found.append(Requirement(what))
    return found


def test_there_is_a_lock_for_each_choice() -> None:
    locks = {path.with_suffix(".in") for path in ROOT.glob("requirements*.txt")}
    assert locks == {*CHOSEN}
    assert len(CHOSEN) == 2


@pytest.mark.parametrize("choice", CHOSEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lock_pins_everything_that_is_chosen_and_has_a_hash_of_each(choice: Path) -> None:
    lock = locked(choice.with_suffix(".txt"))
    assert all(str(one.specifier).startswith("==") for one in lock)
    pins = {(one.name, str(one.specifier)) for one in lock}
    for line in choice.read_text().splitlines():
        if line and not line.startswith(("#", "-r ")):
            wanted = Requirement(line)
            assert (wanted.name.lower(), str(wanted.specifier)) in pins


def test_what_shares_a_virtualenv_agrees() -> None:
    # Where something else needs it too, it may be wanted on more systems.
    ours, dev = (
        {(one.name, str(one.specifier)) for one in locked(ROOT / name)}
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    assert ours <= dev
