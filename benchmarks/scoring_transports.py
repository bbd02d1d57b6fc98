"""What benchmarks/scoring_peers.py compares: our ways to ask a model, and the published package's.

All ask the same model program. Ours take bytes and the published classes take text: each is given
its own, made beforehand, so that neither pays for the other's, nor rests while it is made.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorers import vw
from scorers.blocking import BlockingScorer
from scorers.call import Call
from scorers.inprocess import InProcessScorer
from scorers.nonblocking import NonblockingScorer

ReadyCall = Callable[[], tuple[Sequence[float], Call | None]]
"""Returns predictions, and what a scorer of ours observed of the call."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The same candidates in both forms."""

    as_text: Sequence[str]
    as_bytes: Sequence[bytes]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Candidates":
        return cls(as_text=texts, as_bytes=[text.encode() for text in texts])


@dataclass(frozen=True)
class OurTransport:
    """A scorer of ours."""

    scorer: BlockingScorer | InProcessScorer | NonblockingScorer

    def ready_call(self, context: str, candidates: Candidates, limit_s: float) -> ReadyCall:
        """A call with all that it takes, so that only the call itself is timed."""
        return partial(self.scorer.score, context.encode(), candidates.as_bytes, limit_s)

    def close(self) -> None:
        self.scorer.close()


@dataclass(frozen=True)
class PublishedTransport:
    """A model of the published package."""

    model: Any

    def ready_call(self, context: str, candidates: Candidates, limit_s: float) -> ReadyCall:
        """As ``OurTransport.ready_call``."""

        def call() -> tuple[Sequence[float], None]:
            return list(self.model.predict(context, candidates.as_text, timeout=limit_s)), None

        return call

    def close(self) -> None:
        self.model.close()


Transport = OurTransport | PublishedTransport


@contextmanager
def running(model: Path, only: Sequence[str] | None) -> Iterator[Mapping[str, Transport]]:
    """Transports by name, each with a model process of its own: all, or those named in ``only``."""
    import subwabbit  # type: ignore[import-not-found]

    def published(model_class: Callable[..., Any]) -> PublishedTransport:
        formatter = subwabbit.VowpalWabbitDummyFormatter()
        return PublishedTransport(model_class(formatter, vw.arguments(model)))

    makers: Mapping[str, Callable[[], Transport]] = {
        "inprocess": lambda: OurTransport(InProcessScorer([*vw.arguments(model), "--no_stdin"])),
        "blocking": lambda: OurTransport(BlockingScorer(vw.command(model))),
        "subwabbit-blocking": lambda: published(subwabbit.VowpalWabbitProcess),
        "nonblocking-spin": lambda: OurTransport(NonblockingScorer(vw.command(model), parks=False)),
        "nonblocking-park": lambda: OurTransport(NonblockingScorer(vw.command(model), parks=True)),
        "subwabbit-nonblocking": lambda: published(subwabbit.VowpalWabbitNonBlockingProcess),
    }
    with _model_program_on_path():
        transports = {name: make() for name, make in makers.items() if not only or name in only}
        try:
            yield transports
        finally:
            for transport in transports.values():
                transport.close()


@contextmanager
def _model_program_on_path() -> Iterator[None]:
    """Has both sides run the program that is called ``vw``: this machine's, or ours by that name.

    The published package takes no other name.
    """
    program = vw.program()
    if len(program) == 1:
        yield
        return
    path = os.environ["PATH"]
    with TemporaryDirectory() as folder:
        shim = Path(folder) / "vw"
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
        shim.chmod(0o755)
        os.environ["PATH"] = f"{folder}{os.pathsep}{path}"
        try:
            yield
        finally:
            os.environ["PATH"] = path
