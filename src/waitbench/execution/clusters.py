"""What ``--on`` names: the machines of a scheduler, or some processes of this one for trying."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from waitbench.execution.units import Machines
from waitbench.model.errors import UsageError

_LOCAL = re.compile(r"local:([1-9][0-9]{0,2})")
_ADDRESS = re.compile(r"(dask|tcp|tls)://([^/\s]+:[0-9]{1,5})/?")


@contextmanager
def machines(text: str, say: Callable[[str], None]) -> Iterator[Machines]:
    """The machines that ``text`` names, for the time of the block.

    Raises ``UsageError`` where it names none, ``HarnessError`` where they cannot be reached.
    """
    local, address = _LOCAL.fullmatch(text), _ADDRESS.fullmatch(text)
    if local is None and address is None:
        raise UsageError(
            f"--on {text!r} is neither dask://HOST:PORT, nor tls://HOST:PORT, nor local:N."
        )
    # dask takes a second to import.
    from waitbench.execution.local_cluster import local_cluster
    from waitbench.execution.on_dask import DaskMachines

    if address is not None:
        protocol = "tls" if address[1] == "tls" else "tcp"
        with closing(DaskMachines(f"{protocol}://{address[2]}")) as found:
            yield found
        return
    assert local is not None, "one of the two"
    with local_cluster(int(local[1]), say) as own, closing(DaskMachines(own)) as found:
        found.wait_for(int(local[1]))
        yield found
