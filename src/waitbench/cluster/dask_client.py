"""The way to a scheduler of dask: what it says when there is none, and who its workers are."""

import warnings
from typing import Any

from waitbench.cluster.dask_host import ABOUT
from waitbench.cluster.dask_settings import distributed, require_certificate
from waitbench.cluster.dask_unit import MACHINE
from waitbench.cluster.units import Machine
from waitbench.model.errors import HarnessError

_CONNECTS_WITHIN_S = 5


def connected(address: str) -> Any:
    """A client. Raises ``HarnessError``, or ``UsageError`` where it lacks a certificate."""
    if address.startswith("tls:"):
        require_certificate("client")
    # It would tell of versions of packages; those of waitbench's own lock are compared elsewhere.
    warnings.filterwarnings("ignore", module="distributed")
    try:
        return distributed.Client(address, timeout=_CONNECTS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        hint = (
            ""
            if address.startswith("tls:")
            else (" One that asks for certificates is named tls://HOST:PORT.")
        )
        raise HarnessError(
            f"No scheduler can be talked to at {address}: {_first_line(error)}.{hint}"
        ) from error


def known(client: Any) -> dict[str, Machine]:
    """The workers of waitbench that there are, by address. Raises ``HarnessError``."""
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except OSError as error:
        raise HarnessError(f"The scheduler does not answer: {_first_line(error)}.") from error
    return {
        address: Machine(
            name=str(worker["name"]),
            address=address,
            version=worker[ABOUT]["version"],
            host=worker[ABOUT]["host"],
            instruments=frozenset(worker[ABOUT]["instruments"]),
        )
        for address, worker in workers.items()
        if ABOUT in worker and MACHINE in worker["resources"]
    }


def beats(client: Any) -> dict[str, object]:
    """When each worker was heard last, by its name, by the scheduler's clock."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return {str(worker["name"]): worker.get("last_seen") for worker in workers}


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
