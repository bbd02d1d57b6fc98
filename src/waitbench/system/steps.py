"""Steps of setting something up: each with a time limit, and its output in a log."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.system import variables
from waitbench.system.processes import run, tail
from waitbench.system.texts import printable

IMPORT_S, INSTALL_S, BUILD_S = 60.0, 600.0, 3600.0
"""What an import, an installation and a build may take at the most."""

_COMPLAINT = re.compile(
    r"\b(error|fatal|panicked|not found|not installed|no such file|cannot|could not)\b", re.I
)
_TRAILER = re.compile(
    r"subprocess-exited-with-error|did not run successfully|originates from a subprocess"
    r"|Failed (building|to build)|exit code: \d|metadata-generation-failed|Hint:|--verbose"
    r"|finished with status 'error'|error while generating package metadata|^\s*\d+: \w+::"
)
"""What pip says after every failure, whatever it was; and the frames of a backtrace."""
_MOST_COMPLAINTS = 6
_MOST_READ = 4 * 2**20


def run_logged(
    arguments: Sequence[str],
    log: Path,
    *,
    time_limit_s: float = INSTALL_S,
    more_variables: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    hint: Callable[[Path], str] = lambda _log: "",
) -> None:
    """Runs one step of setting something up, its output appended to a log.

    Raises ``HarnessError`` with what it complained of first, where the log is, and what ``hint``
    makes of it.
    """
    with log.open("ab") as file:
        begun = file.tell()
        finished = run(
            arguments,
            stdout=file,
            stderr=file,
            time_limit_s=time_limit_s,
            # Not what the harness itself has: some of these steps run the code under test.
            env={**variables.of_setup(), **(more_variables or {})},
            cwd=cwd,
        )
    if finished.returncode == 0:
        return
    program = Path(arguments[0]).name
    if finished.timed_out:
        raise HarnessError(
            f"{program} was still running after {time_limit_s:g} s, and was killed; --setup-limit "
            f"allows more. The end of {log}:\n{tail(log)}"
        )
    complaints = _complaints(log, begun)
    if complaints:
        # The first line is what an outcome says.
        said = "\n".join((f": {complaints[0]}", *complaints[1:], f"The log is {log}."))
    else:
        said = f". The end of {log}:\n{tail(log)}"
    raise HarnessError(f"{program} failed (exit {finished.returncode}){said}{hint(log)}")


def _complaints(log: Path, begun: int) -> list[str]:
    """The first lines that say what is wrong, without what pip says after every failure."""
    with log.open("rb") as file:
        file.seek(begun)
        text = file.read(_MOST_READ).decode("utf-8", "replace")
    found = [
        printable(line.strip()[:200])
        for line in text.splitlines()
        if _COMPLAINT.search(line) and not _TRAILER.search(line)
    ]
    return list(dict.fromkeys(found))[:_MOST_COMPLAINTS]
