"""One extra, unmeasured run -> which of its threads wake up, where, and where they use CPU.

It is only counted for a while: how often each thread goes to sleep, and for how long it is on a
CPU, read from ``/proc``, which wakes nobody up. Then it is looked at, and so on in turns, so that
of a run that ends early there is something of both. Places are to be weighed by wake-ups, not by
time, so a thread is watched until it has just gone to sleep, its process is stopped there, and its
stack is read: each sleep is as likely to be seen as any other, however short. Who works is looked
at while it is on a CPU, at moments that chance chooses. What that does to the worker is in no
count.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

from waitbench.execution.bench import Bench, ReadyRun
from waitbench.execution.launch_report import FAILURE, OUTPUT, WAITING
from waitbench.execution.looking import PARTS, Looks, Watched, without_numbers
from waitbench.model.errors import HarnessError
from waitbench.model.scenario import Scenario
from waitbench.model.why import KERNEL, Frame, Stack, Thread, Why
from waitbench.system import trees
from waitbench.system.processes import tail

_COUNTED_S = 3.0
_LOOKED_S = 40.0
"""At the most; in all parts together, as what is counted."""
_SETTLES_S = 0.5
"""Before each part."""
_SPARE_S = 15.0
"""To settle, and for looks that take long."""
_BEGINS_AFTER_S, _BEGINS_WITHIN_S = 1.0, 60.0
"""A worker that does not say when it waits is taken to do so; and one that does is waited for."""


def record(scenario: Scenario, label: str, bench: Bench) -> Why:
    """Runs a scenario once on a revision and looks at it.

    Raises ``HarnessError`` with the reason where nothing could be counted.
    """
    # As long as a worker file says that it takes to know it.
    counted_s = float(scenario.parameters.get("window", 0)) if scenario.is_command else 0.0
    counted_s = counted_s or _COUNTED_S
    asked = scenario.lasting(counted_s + _LOOKED_S + _SPARE_S)
    within_s = _BEGINS_WITHIN_S if asked.is_own else _BEGINS_AFTER_S
    over = threading.Event()
    watching: list[Future[Looks]] = []
    with bench.prepare(asked, label) as ready, ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        marker = ready.folder / "waiting"

        def start(group: int) -> None:
            looks = Looks(lambda: trees.below(group), bench.engine.role, over)
            watching.append(pool.submit(_watch, group, looks, marker, within_s, counted_s))

        # Where the launcher of commands looks for what they say.
        out, err = (stack.enter_context((ready.folder / name).open("wb")) for name in OUTPUT)
        marked = replace(ready, variables={**ready.variables, WAITING: str(marker)})
        try:
            marked.carry_out(ready.command, stdout=out, stderr=err, on_start=start)
        finally:
            over.set()
        try:
            looks = watching[0].result()
        except OSError as error:
            raise HarnessError(str(error)) from error
        if not looks.parts_s:
            raise HarnessError(f"the run ended before it was counted{_last_words(ready)}")
        return _why(label, looks)


def look(find: Callable[[], Sequence[int]], seconds: float) -> Why:
    """Counts processes that run already for so long, and looks at them in turns with that.

    No signal stops them: who started one would hear of it. A stack is read where it goes on at once
    if this process is gone.
    """
    looks = Looks(find, lambda _arguments: None, threading.Event(), lambda _: nullcontext(True))
    for _ in range(PARTS):
        looks.count(seconds / PARTS)
        looks.look(_LOOKED_S / PARTS)
    return _why("now", looks)


def _watch(root: int, looks: Looks, marker: Path, within_s: float, counted_s: float) -> Looks:
    """Counts and looks in turns, and ends the run."""
    try:
        end = time.monotonic() + within_s
        while time.monotonic() < end and not marker.exists() and not looks.over.wait(0.02):
            pass
        for _ in range(PARTS):
            if looks.over.wait(_SETTLES_S):
                break
            looks.count(counted_s / PARTS)
            looks.look(_LOOKED_S / PARTS)
        return looks
    finally:
        trees.kill(lambda: [root, *trees.below(root)])


def _last_words(ready: ReadyRun) -> str:
    """Why a run ended, where that is known, to end a sentence."""
    failure = ready.folder / FAILURE
    logs = (tail(ready.folder / name, 1) for name in reversed(OUTPUT))
    words = failure.read_text("utf-8") if failure.exists() else next(filter(None, logs), "")
    return f": {words}" if words else ""


def _why(label: str, looks: Looks) -> Why:
    """What was counted and seen; of threads of one name in one process together."""
    same: dict[tuple[str, str], list[Watched]] = {}
    for one in looks.threads.values():
        if any(one.wakeups) or any(one.cpu_ns):
            same.setdefault((one.process, _name(one)), []).append(one)
    roles = {pid: one.process for (pid, _), one in looks.threads.items()}
    reasons: dict[str, list[str]] = {}
    for pid, reason in looks.unread.items():
        reasons.setdefault(reason, []).append(roles[pid])
    return Why(
        label=label,
        counted_s=sum(looks.parts_s),
        threads=tuple(_together(*who, threads, looks.parts_s) for who, threads in same.items()),
        remarks=tuple(f"{', '.join(those)}: {reason}." for reason, those in reasons.items()),
    )


def _name(thread: Watched) -> str:
    """Its name without numbers; where it has none, its outermost function's."""
    if thread.name:
        return without_numbers(thread.name)
    stacks = (*thread.asleep, *thread.at_work)
    return next((f"{one[0].name}()" for one in stacks if one[0].kind != KERNEL), "unnamed thread")


def _together(
    process: str, name: str, threads: Sequence[Watched], parts_s: Sequence[float]
) -> Thread:
    wakeups = (sum(part) for part in zip(*(one.wakeups for one in threads), strict=True))
    cpu_ns = (sum(part) for part in zip(*(one.cpu_ns for one in threads), strict=True))
    delayed_s = max(one.delayed_ns for one in threads) / 1e9
    return Thread(
        process=process,
        name=name,
        wakeups_per_s=tuple(n / part_s for n, part_s in zip(wakeups, parts_s, strict=False)),
        cpu_share=tuple(n / 1e9 / part_s for n, part_s in zip(cpu_ns, parts_s, strict=False)),
        delayed=min(delayed_s / sum(parts_s), 1.0),
        asleep=_stacks(one.asleep for one in threads),
        at_work=_stacks(one.at_work for one in threads),
    )


def _stacks(seen: Iterable[Counter[tuple[Frame, ...]]]) -> tuple[Stack, ...]:
    """What was seen of some threads, most often first."""
    return tuple(Stack(*one) for one in sum(seen, Counter()).most_common())
