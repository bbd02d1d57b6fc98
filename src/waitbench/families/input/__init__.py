"""Families ``partitioned`` and ``dynamic``: workers that wait for their input.

The core of this project.
"""

from waitbench.families.base import FamilyModule
from waitbench.families.input.scenarios import SCENARIOS

MODULE = FamilyModule(scenarios=SCENARIOS)
