"""Loaded into dask's workers (``--preload``): shares of tests know the stand-in, too."""

import os
import sys

from waitbench.cluster import on_worker
from waitbench.system import installation
from waitbench.system.paths import ROOT

on_worker.PROGRAM = (sys.executable, str(ROOT / "tests" / "cluster" / "shard_with_standin.py"))
if os.environ.get("BENCH_TEST_VERSION"):
    installation.VERSION = os.environ["BENCH_TEST_VERSION"]
