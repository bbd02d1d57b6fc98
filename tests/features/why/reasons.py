"""Threads by the places where they wait or work, made by hand."""

from msgspec.structs import replace

from waitbench.features.why.samples import KERNEL, PYTHON, Frame, Samples, Stack, Thread


def python(name: str, file: str = "app/own.py", line: int = 1) -> Frame:
    return Frame(name, PYTHON, file, line)


def place(
    *stack: str | Frame,
    thread: str = "MainThread",
    process: str = "worker",
    wakeups: float = 0.0,
    cpu: float = 0.0,
    call: str = "",
    waits: bool = True,
) -> Thread:
    """A thread with one place, seen as often as it costs; what is only named is Python's."""
    frames = [python(one) if isinstance(one, str) else one for one in stack]
    frames += [Frame(call, KERNEL)] if call else []
    samples = round(100 * wakeups if waits else 10_000 * cpu)
    seen = (Stack(tuple(frames), samples or 1),)
    return Thread(
        process=process,
        name=thread,
        wakeups_per_s=(wakeups,),
        cpu_share=(cpu,),
        asleep=seen if waits and frames else (),
        at_work=() if waits else seen,
    )


def samples(label: str, *places: Thread, remarks: tuple[str, ...] = ()) -> Samples:
    """Samples of a revision, in which places of one thread are those of one."""
    threads: dict[tuple[str, str], Thread] = {}
    for one in places:
        who = (one.process, one.name)
        threads[who] = _together(threads[who], one) if who in threads else one
    return Samples(label=label, counted_s=3.0, threads=tuple(threads.values()), remarks=remarks)


def _together(one: Thread, other: Thread) -> Thread:
    return replace(
        one,
        wakeups_per_s=(one.wakeups_per_s[0] + other.wakeups_per_s[0],),
        cpu_share=(one.cpu_share[0] + other.cpu_share[0],),
        asleep=(*one.asleep, *other.asleep),
        at_work=(*one.at_work, *other.at_work),
    )
