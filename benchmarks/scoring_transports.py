"""What benchmarks/scoring_peers.py compares: our ways to ask a model, and the published package's.

All ask the same model program, and one treatment of its process and pipes is the same for all. Ours
take bytes and the published classes take text: each is given its own, made beforehand, so that
neither pays for the other's, nor rests while it is made.
"""

import fcntl
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorers import vw
from scorers.blocking import BlockingScorer
from scorers.inprocess import InProcessScorer
from scorers.nonblocking import NonblockingScorer
from scorers.treatment import Treatment, treat

_GET_PIPE_SIZE = 1032  # F_GETPIPE_SZ

ReadyCall = Callable[[], tuple[Sequence[float], int]]
"""Returns predictions, and how many lines of earlier calls were still to be answered before."""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The same candidates in both forms."""

    as_text: Sequence[str]
    as_bytes: Sequence[bytes]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Candidates":
        return cls(as_text=texts, as_bytes=[text.encode() for text in texts])


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model process."""

    pid: int
    pipes: Sequence[int]

    def observed(self) -> tuple[int, int]:
        """The niceness of all its threads, and the size of its pipes in bytes.

        Raises ``ValueError`` if they differ among themselves.
        """
        threads = os.listdir(f"/proc/{self.pid}/task")
        (niceness,) = {os.getpriority(os.PRIO_PROCESS, int(thread)) for thread in threads}
        (pipe_bytes,) = {fcntl.fcntl(pipe, _GET_PIPE_SIZE) for pipe in self.pipes}
        return niceness, pipe_bytes


@dataclass(frozen=True)
class OurTransport:
    """A scorer of ours."""

    scorer: BlockingScorer | InProcessScorer | NonblockingScorer

    @property
    def model(self) -> Model | None:
        """The model's process, unless it is this one."""
        if isinstance(self.scorer, InProcessScorer):
            return None
        process = self.scorer.process
        return Model(pid=process.pid, pipes=[process.to_model, process.from_model])

    def ready_call(self, context: str, candidates: Candidates, limit_s: float) -> ReadyCall:
        """A call with all that it takes, so that only the call itself is timed."""
        score = partial(self.scorer.score, context.encode(), candidates.as_bytes, limit_s)

        def call() -> tuple[Sequence[float], int]:
            predictions, observed = score()
            return predictions, observed.pending_before

        return call

    def close(self) -> None:
        self.scorer.close()


@dataclass(frozen=True)
class PublishedTransport:
    """A model of the published package."""

    published: Any

    @property
    def model(self) -> Model:
        """As ``OurTransport.model``."""
        process = self.published.vw_process
        return Model(pid=process.pid, pipes=[process.stdin.fileno(), process.stdout.fileno()])

    def ready_call(self, context: str, candidates: Candidates, limit_s: float) -> ReadyCall:
        """As ``OurTransport.ready_call``."""
        predict = partial(self.published.predict, context, candidates.as_text, timeout=limit_s)

        def call() -> tuple[Sequence[float], int]:
            # The blocking class does not count them, because it leaves none.
            pending_before: int = getattr(self.published, "_pending_lines", 0)
            return list(predict()), pending_before

        return call

    def close(self) -> None:
        self.published.close()


Transport = OurTransport | PublishedTransport


@contextmanager
def running(
    model: Path, only: Sequence[str] | None, treatments: Sequence[Treatment]
) -> Iterator[Mapping[str, Transport]]:
    """Transports by name, each with a model process of its own: all, or those named in ``only``.

    Each is there once for each treatment, which its name then tells if there are several. In
    process there is nothing to treat: these show what chance does.
    """
    import subwabbit  # type: ignore[import-not-found]

    command = vw.command(model)

    def published(model_class: Callable[..., Any], treatment: Treatment) -> PublishedTransport:
        formatter = subwabbit.VowpalWabbitDummyFormatter()
        transport = PublishedTransport(model_class(formatter, vw.arguments(model)))
        treat(transport.model.pid, transport.model.pipes, treatment)
        return transport

    def blocking(treatment: Treatment) -> OurTransport:
        return OurTransport(BlockingScorer(command, treatment=treatment))

    def nonblocking(treatment: Treatment, *, parks: bool) -> OurTransport:
        return OurTransport(NonblockingScorer(command, parks=parks, treatment=treatment))

    makers: Mapping[str, Callable[[Treatment], Transport]] = {
        "inprocess": lambda _: OurTransport(InProcessScorer([*vw.arguments(model), "--no_stdin"])),
        "blocking": blocking,
        "subwabbit-blocking": partial(published, subwabbit.VowpalWabbitProcess),
        "nonblocking-spin": partial(nonblocking, parks=False),
        "nonblocking-park": partial(nonblocking, parks=True),
        "subwabbit-nonblocking": partial(published, subwabbit.VowpalWabbitNonBlockingProcess),
    }
    with _model_program_on_path(), ExitStack() as stack:
        transports = {}
        for name, make in makers.items():
            for treatment in treatments if not only or name in only else ():
                transport = make(treatment)
                stack.callback(transport.close)
                transports[_name(name, treatment, treatments)] = transport
        yield transports


def _name(transport: str, treatment: Treatment, treatments: Sequence[Treatment]) -> str:
    if len(treatments) == 1:
        return transport
    size = f"{treatment.pipe_bytes >> 10} KiB" if treatment.pipe_bytes else "default"
    return f"{transport}, nice {treatment.niceness}, pipe {size}"


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
