"""Wheels of what is built from sources: once, here, for whoever measures them."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from waitbench.cli.orders import SentWheel
from waitbench.cli.valid_request import ValidRequest
from waitbench.environments.virtualenvs import Maker
from waitbench.model.environment import Origin
from waitbench.reporting.progress import PreparationLog


def build(
    request: ValidRequest, say: PreparationLog
) -> tuple[Mapping[str, SentWheel], Mapping[str, bytes]]:
    """What an index does not have of the revisions: by label, and the contents by digest.

    Raises ``HarnessError`` where one cannot be built.
    """
    described, contents = {}, {}
    with say:
        for engine in request.engines:
            specs = [spec for spec in request.specs if spec.revision.engine == engine.name]
            maker = Maker(
                engine=engine,
                repository=request.repositories.get(engine.name),
                cache=request.cache,
                toolchain=request.toolchain,
                limit_s=request.setup_limit_s,
                say=say,
            )
            for spec in maker.build_wheels(specs):
                if spec.wheel is None or not (
                    spec.origin.is_built_here or spec.origin is Origin.FILE
                ):
                    continue
                content = spec.wheel.read_bytes()
                digest = hashlib.sha256(content).hexdigest()
                contents[digest] = content
                described[spec.revision.label] = SentWheel(
                    name=spec.wheel.name, sha256=digest, compiler=spec.compiler
                )
    return described, contents


def unit_of(request: ValidRequest, scenario: str) -> ValidRequest:
    """The request of one scenario's unit."""
    return replace(request, share=replace(request.share, scenarios=(scenario,)))
