"""Writes what was found wherever it was asked for."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from waitbench.model.errors import HarnessError
from waitbench.system import files


def publish(
    rendered: str, markdown: Path | None, others: Sequence[Callable[[], object]] = ()
) -> None:
    """Makes some writes, and those of Markdown: into a file that was named, and the job's summary.

    One after the other, whatever happens to any. Raises ``HarnessError`` that names those that
    failed.
    """
    writes = list(others)
    if markdown is not None:
        writes.append(partial(files.write_text, markdown, rendered))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        # Appended, as the runner expects of every step.
        writes.append(partial(files.append_line, Path(summary), rendered))
    errors = []
    for write in writes:
        try:
            write()
        except HarnessError as error:
            errors.append(str(error))
    if errors:
        raise HarnessError("\n".join(errors))
