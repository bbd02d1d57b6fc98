"""Places where workers wait, made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from waitbench.model.why import KERNEL, PYTHON, Frame, Stack, Thread, Why


def python(name: str, file: str = "app/own.py", line: int = 1) -> Frame:
    return Frame(name, PYTHON, file, line)


@dataclass(frozen=True, kw_only=True)
class MadeUp:
    """What is known of a thread by one of its places."""

    process: str
    thread: str
    waits: bool
    stack: Stack
    wakeups: float
    cpu: float


def place(
    *stack: str | Frame,
    thread: str = "MainThread",
    process: str = "worker",
    wakeups: float = 0.0,
    cpu: float = 0.0,
    call: str = "",
    waits: bool = True,
) -> MadeUp:
    """A place, seen as often as it costs; functions that are only named are Python's."""
    frames = [python(one) if isinstance(one, str) else one for one in stack]
    frames += [Frame(call, KERNEL)] if call else []
    looks = round(100 * wakeups if waits else 10_000 * cpu)
    return MadeUp(
        process=process, thread=thread, waits=waits, stack=Stack(tuple(frames), looks or 1),
        wakeups=wakeups, cpu=cpu,
    )  # fmt: skip


def why(label: str, *places: MadeUp, remarks: tuple[str, ...] = ()) -> Why:
    of_threads: dict[tuple[str, str], list[MadeUp]] = {}
    for one in places:
        of_threads.setdefault((one.process, one.thread), []).append(one)
    return Why(
        label=label,
        counted_s=3.0,
        threads=tuple(_thread(*who, own) for who, own in of_threads.items()),
        remarks=remarks,
    )


def _thread(process: str, name: str, places: Sequence[MadeUp]) -> Thread:
    return Thread(
        process=process,
        name=name,
        wakeups_per_s=(sum(one.wakeups for one in places),),
        cpu_share=(sum(one.cpu for one in places),),
        asleep=tuple(one.stack for one in places if one.waits and one.stack.frames),
        at_work=tuple(one.stack for one in places if not one.waits),
    )
