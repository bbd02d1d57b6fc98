"""Families -> assets: what workloads read besides their input, such as a trained model."""

from collections.abc import Callable, Iterable
from pathlib import Path

from waitbench.model.environment import Environment
from waitbench.model.scenario import Scenario
from waitbench.system.locks import locked
from waitbench.system.places import Cache
from waitbench.system.processes import run_logged

FOLDER_VARIABLE = "BENCH_ASSETS_DIR"
"""The environment variable that tells a workload where they are."""


def folder(cache: Cache) -> Path:
    """Where they are kept.

    Programs name their files by all that determines them, so that an old one is never taken for a
    new one.
    """
    return cache.folder("assets")


def make(
    chosen: Iterable[Scenario],
    environment: Environment,
    cache: Cache,
    say: Callable[[str], None],
) -> None:
    """Runs each family's program, which returns at once if it has nothing to do.

    Raises ``HarnessError`` if one fails.
    """
    programs = {s.family.name: s.family.assets for s in chosen if s.family.assets is not None}
    for family, program in programs.items():
        say(f"{family}: making what its workloads read, unless it is there")
        log = cache.folder("logs") / f"assets-{family}.log"
        with locked(cache.lock_file(f"assets-{family}"), say):
            log.unlink(missing_ok=True)
            run_logged([str(environment.python), str(program), str(folder(cache))], log)
