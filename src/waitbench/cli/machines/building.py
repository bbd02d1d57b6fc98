"""Wheels of what is built from sources: once, here, for whoever measures them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from waitbench.cli.machines.orders import SentWheel
from waitbench.cli.preparation import maker, say_error
from waitbench.cli.valid_request import ValidRequest
from waitbench.engines.base import Engine
from waitbench.model.environment import EnvironmentSpec, Origin
from waitbench.model.errors import HarnessError
from waitbench.reporting.progress import PreparationLog


@dataclass(frozen=True)
class Wheels:
    """What an index does not have of the revisions."""

    by_label: Mapping[str, SentWheel]
    contents: Mapping[str, bytes]
    """By digest."""


def build(
    request: ValidRequest, progress: Console, say: PreparationLog
) -> tuple[ValidRequest, Wheels]:
    """The request, which says of what could not be built why, and the wheels of the others.

    Raises ``HarnessError`` where nothing can be built.
    """
    with say:
        specs = [spec for engine in request.engines for spec in _built(request, engine, say)]
    by_label, contents = {}, {}
    for spec in specs:
        if spec.unbuilt is not None:
            say_error(progress, spec.revision.label, spec.unbuilt)
        elif spec.wheel is not None and (spec.origin.is_built_here or spec.origin is Origin.FILE):
            content = spec.wheel.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            contents[digest] = content
            by_label[spec.revision.label] = SentWheel(
                name=spec.wheel.name, sha256=digest, compiler=spec.compiler
            )
    in_order = sorted(specs, key=lambda spec: request.labels.index(spec.revision.label))
    return replace(request, specs=tuple(in_order)), Wheels(by_label, contents)


def _built(request: ValidRequest, engine: Engine, say: PreparationLog) -> Sequence[EnvironmentSpec]:
    specs = request.specs_of(engine)
    try:
        return maker(request, engine, say).build_wheels(specs)
    except HarnessError as error:
        if len(request.engines) == 1:
            raise
        return [replace(spec, unbuilt=str(error)) for spec in specs]


def unit_of(request: ValidRequest, scenario: str) -> ValidRequest:
    """The request of one scenario's unit."""
    return replace(request, share=replace(request.share, scenarios=(scenario,)))
