"""What a tree of processes is said to have used."""

import json
import sys

import pytest

from tests.running import run

NAPS = """
import json, resource, time
for _ in range(500):
    time.sleep(0.001)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps(used.ru_utime + used.ru_stime), flush=True)
"""
COUNT = f"""
import os, sys
from pathlib import Path
from waitbench.execution.counted_tree import Command, CountedTree

tree = CountedTree(None)
words = [sys.executable, "-I", "-c", {NAPS!r}]
tree.start(Command(program=words[0], words=words, variables=os.environ, folder=Path("/")))
tree.outlast(1.0)
print(tree.reading()["cpu_s"])
"""


@pytest.mark.integration
def test_handing_over_a_cpu_is_part_of_what_a_wake_up_costs() -> None:
    said, counted = map(json.loads, run(sys.executable, "-c", COUNT).stdout.split())
    # Its own end comes after it has said so.
    assert said <= counted < said + 0.1
