"""Makes the scenario of a user's dataflow, ``FILE.py:CALL``."""

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from msgspec import ValidationError, convert

from waitbench.engines.bytewax.scenarios import SCENARIOS, Dataflow
from waitbench.model.errors import UsageError
from waitbench.model.metrics import METRICS, SEEN_FROM_OUTSIDE, FileName
from waitbench.system import files
from waitbench.system.paths import DATAFLOWS

_MAX_NAME_BYTES = 200
"""The longest name of a scenario, after which files are named, with up to 50 bytes more."""
_GIVEN = re.compile(r"(?P<path>.+\.py)(?::(?P<call>.*))?", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_]\w*)(\(.*\))?", re.DOTALL)
_OURS = {"support", "waitbench_probe"}
"""Modules of dataflows/ that a user's may import."""


class UserDataflow(Dataflow, frozen=True, kw_only=True):
    """A dataflow of which only its name is known."""

    is_own: ClassVar[bool] = False
    is_observed: bool


def user_dataflow(text: str) -> UserDataflow:
    """Validates a file without running it; the call is ``flow`` by default. Raises
    ``UsageError``."""
    shown = f"--dataflow {text!r}"
    given = _GIVEN.fullmatch(text)
    path = Path(given["path"] if given else text)
    call = (given and given["call"]) or "flow"
    if given is None or not files.is_file(path):
        raise UsageError(f"{shown}: there is no Python file {str(path)!r}.")
    try:
        code = path.read_text("utf-8")
        tree = ast.parse(code)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror}.") from error
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{shown}: {path} does not parse: {error}.") from error
    called = _CALL.fullmatch(call)
    if called is None:
        raise UsageError(f"{shown}: {call!r} is not a name or a call, such as flow or get_flow(1).")
    if not re.search(rf"\b{called[1]}\b|import \*", code):
        raise UsageError(f"{shown}: {path} does not define {called[1]!r}.")
    try:
        convert(path.stem, FileName)
        if len(path.stem.encode()) > _MAX_NAME_BYTES:
            raise ValidationError(f"it has more than {_MAX_NAME_BYTES} bytes")
    except ValidationError as error:
        raise UsageError(
            f"{shown}: results are named after {path.stem!r}. Rename the file: {error}."
        ) from error
    is_observed = not _OURS.isdisjoint(_imported_modules(tree))
    if is_observed and (DATAFLOWS / path.name).exists():
        raise UsageError(
            f"{shown}: {path.name} is also the name of a file of waitbench's, which Python may "
            "import in its place. Rename yours."
        )
    # python -m finds modules of the current folder first.
    for name in ("bytewax", *(sorted(_OURS) if is_observed else ())):
        if any(map(files.is_there, (name, f"{name}.py"))):
            raise UsageError(
                f"{shown}: the current folder has a {name} of its own, which Python would import "
                "in place of the revision's. Call this from another folder."
            )
    digest = hashlib.sha256(code.encode()).hexdigest()
    is_taken = path.stem in {scenario.name for scenario in SCENARIOS}
    return UserDataflow(
        name=f"{path.stem}-of-yours" if is_taken else path.stem,
        module=path.resolve(),
        call=call,
        parameters={"file": str(path.resolve()), "sha256": digest, "call": call},
        is_observed=is_observed,
        # Unknown, but the user waits for it to be done.
        works=True,
        metrics=METRICS if is_observed else SEEN_FROM_OUTSIDE,
    )


def _imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
