"""Places where workers wait, made by hand."""

from waitbench.model.why import KERNEL, PYTHON, Frame, Place, Why


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
    looks: int = 12,
) -> Place:
    """A place; functions that are only named are Python's."""
    frames = [python(one) if isinstance(one, str) else one for one in stack]
    return Place(
        process=process,
        thread=thread,
        waits=waits,
        stack=(*frames, *([Frame(call, KERNEL)] if call else [])),
        wakeups_per_s=wakeups,
        cpu_share=cpu,
        looks=looks,
    )


def why(label: str, *places: Place, remarks: tuple[str, ...] = ()) -> Why:
    return Why(label=label, counted_s=3.0, looks=len(places), places=places, remarks=remarks)
