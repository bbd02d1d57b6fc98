"""The units of a comparison while other machines carry them out: what becomes of what they tell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from waitbench.analysis import gate
from waitbench.cluster.collecting import Collecting
from waitbench.cluster.orders import unit_of
from waitbench.cluster.units import Machine, Unit
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.pipeline.concluding import Concluding
from waitbench.pipeline.measuring import Measuring
from waitbench.pipeline.preparation import new_record
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.progress import RunProgress
from waitbench.reporting.traces import tables
from waitbench.store import traces
from waitbench.store.comparisons import Contents


@dataclass(kw_only=True)
class Listening:
    """The units of a comparison while they are carried out; see ``execution.units.Listener``."""

    valid: ValidRequest
    measuring: Measuring
    concluding: Concluding
    progress: RunProgress
    say: Callable[[str], None]
    scenarios: Mapping[str, Scenario]
    places: Mapping[str | None, Path]
    """Folders of comparisons, by the machine that measures it; ``None`` for any."""
    _collecting: dict[str | None, Collecting] = field(default_factory=dict)
    _finished: dict[str, Contents] = field(default_factory=dict)
    """By the unit's name."""
    _judged: int = 0
    """How many had been finished when the gate was last asked."""
    _has_failed: bool = False

    def units(
        self, order: Callable[[str], str], wheels: Sequence[str], *, resume: bool
    ) -> list[Unit]:
        """What is to be done, the longest first, as it decides when all is done."""
        names = sorted(self.scenarios, key=lambda name: -self.scenarios[name].expected_s)
        found = []
        for machine, place in self.places.items():
            place.mkdir(parents=True, exist_ok=True)
            collecting = Collecting(
                folder=place,
                scenarios=self.scenarios,
                revisions=[
                    (spec.revision.label, spec.revision.text, spec.commit)
                    for spec in self.valid.specs
                ],
                progress=self.progress,
            )
            self._collecting[machine] = collecting
            before = collecting.finished_before(self._settings) if resume else {}
            for name in names:
                unit = Unit(
                    name=name if machine is None else f"{name} on {machine}",
                    order=order(name),
                    wheels=tuple(wheels),
                    machine=machine,
                )
                if name in before:
                    self._finished[unit.name] = before[name]
                else:
                    found.append(unit)
        return found

    def merge(self) -> dict[str | None, list[Record]]:
        """The records of each comparison, once all units are finished or need not be."""
        for machine, collecting in self._collecting.items():
            for name in self.scenarios if machine is None else ():
                if name not in self._finished:
                    unit = unit_of(self.valid, name)
                    collecting.leave_out(name, self.measuring.settings(unit))
        return {machine: one.merge() for machine, one in self._collecting.items()}

    def accepts(self, machine: Machine) -> bool:
        if machine.version == machine.version():
            return True
        self.say(f"{machine.name} is left out: its waitbench is {machine.version}")
        return False

    def begun(self, unit: Unit, machine: Machine) -> None:
        self._of(unit).begun(_scenario(unit), machine.name)

    def told(self, unit: Unit, line: str) -> None:
        self._of(unit).told(_scenario(unit), line)

    def finished(self, unit: Unit, files: Mapping[str, bytes]) -> None:
        contents = self._of(unit).finished(_scenario(unit), files)
        self._finished[unit.name] = contents
        (record,) = contents.records
        if unit.machine is not None:
            return  # one table of all machines says more
        of_traces = tables(record.scenario, traces.of(contents.folder, record.scenario))
        self.concluding.sum_up(record, of_traces)

    def lost(self, unit: Unit, why: str) -> None:
        self._of(unit).lost(_scenario(unit))
        self.say(f"{_scenario(unit)} is begun anew elsewhere: {why}")

    def silent(self, machine: str, for_s: float) -> None:
        if for_s:
            self.say(
                f"{machine} has not answered for {for_s:.0f} s. What it measures is begun anew "
                "elsewhere when its scheduler gives it up, after five minutes"
            )
        else:
            self.say(f"{machine} answers again")

    def is_over(self) -> bool:
        """Whether a failure of the gate is known, and the user wants to know no more."""
        asked = self.measuring.gate
        if asked.fail_fast and None in self.places and len(self._finished) != self._judged:
            self._judged = len(self._finished)
            self._has_failed = self._fails()
        return self._has_failed

    def _fails(self) -> bool:
        asked = self.measuring.gate
        records = [one for contents in self._finished.values() for one in contents.records]
        known = {record.scenario for record in records}
        elsewhere = [
            new_record(one, records[0].context)
            for one in self.valid.scenarios
            if one.name not in known
        ]
        judged = gate.judge_all(records, asked.criteria, asked.most_rounds, elsewhere)
        return any(map(gate.has_failed, judged))

    @property
    def _settings(self) -> Mapping[str, object]:
        return self.measuring.settings(self.valid)

    def _of(self, unit: Unit) -> Collecting:
        return self._collecting[unit.machine]


def _scenario(unit: Unit) -> str:
    return unit.name if unit.machine is None else unit.name.removesuffix(f" on {unit.machine}")
