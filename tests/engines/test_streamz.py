"""streamz: what its carrier is told."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from waitbench.engines.streamz import ENGINE
from waitbench.environments.revisions import resolve
from waitbench.model.errors import UsageError
from waitbench.model.scenario import Topology


@pytest.mark.parametrize(("text", "interval"), [("", "0"), ("+poll_interval:0.1", "0.1")])
def test_a_source_waits_for_news_unless_it_is_told_to_look_for_it(text: str, interval: str) -> None:
    (revision,) = resolve([f"streamz@0.6.6{text}"], {})
    environment: Any = SimpleNamespace(python=Path("python"), settings=revision.settings)
    scenario: Any = SimpleNamespace(import_string="x.py:flow()")
    start = ENGINE.start(environment, scenario, Topology("single"))
    assert start.arguments[-3:] == ("x.py:flow()", "1", f"poll_interval={interval}")


def test_another_knob_is_refused() -> None:
    with pytest.raises(UsageError, match="poll_interval:0"):
        resolve(["streamz@0.6.6+pool_interval:1"], {})
