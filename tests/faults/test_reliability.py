"""What docs/reliability.md promises is what there is."""

import re

from waitbench.system import variables
from waitbench.system.places import ROOT

TEXT = (ROOT / "docs" / "reliability.md").read_text("utf-8")


def test_the_document_lists_the_variables_that_other_programs_get() -> None:
    section = TEXT.partition("## What builds and runs get")[2].partition("## Faults")[0]
    parts = re.split(r"\n(?=Everything|Downloads|waitbench itself|A workload also)", section)[1:4]
    named = [set(re.findall(r"`([\w*]+)`", part)) for part in parts]
    listed = (variables.EVERYWHERE, variables.SETTING_UP, variables.OURS)
    assert named == [set(names) for names in listed]
