"""Loaded into dask's workers (``--preload``): shards of tests know the stand-in, too."""

import os
import sys

from waitbench.features.cluster import on_worker
from waitbench.system import installation
from waitbench.system.paths import ROOT

_PROGRAM = ROOT / "tests" / "features" / "cluster" / "shard_with_standin.py"
on_worker.PROGRAM = (sys.executable, str(_PROGRAM))
if os.environ.get("BENCH_TEST_VERSION"):
    installation.VERSION = os.environ["BENCH_TEST_VERSION"]
