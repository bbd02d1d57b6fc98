"""Loaded into dask's workers (``--preload``): shards of tests know the stand-in, too."""

import sys

from waitbench.features.cluster import on_worker
from waitbench.system.paths import ROOT

_PROGRAM = ROOT / "tests" / "features" / "cluster" / "shard_with_standin.py"
on_worker.PROGRAM = (sys.executable, str(_PROGRAM))
