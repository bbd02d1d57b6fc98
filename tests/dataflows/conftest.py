"""Workloads import each other from their own folder, as an engine has them do."""

import sys

from waitbench.system.places import DATAFLOWS

sys.path.insert(0, str(DATAFLOWS))
