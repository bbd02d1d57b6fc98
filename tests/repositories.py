"""Where the commits of engines are looked up, in tests: all in one place."""

from waitbench import engines
from waitbench.environments.repository import Repository
from waitbench.environments.revisions import Repositories


def everywhere(repository: Repository) -> Repositories:
    """The same repository for every engine that has one."""
    return {one.name: repository for one in engines.all_known() if one.repository is not None}
