"""One comparison that is measured elsewhere, unit by unit, as it comes in.

Lines of a unit's journals are kept on this disk as they are told. When a unit is finished its own
files are kept beside them, and those are what counts. When all units are, they are merged as shares
of a comparison are. Of a unit that is begun anew, what was told before is thrown away: its rounds
are another machine's.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waitbench.analysis import gate
from waitbench.cluster import JOURNAL_MARK, Machine, Unit
from waitbench.cluster.orders import unit_of
from waitbench.model.errors import UsageError
from waitbench.model.record import Record
from waitbench.model.scenario import Scenario
from waitbench.pipeline.concluding import Concluding
from waitbench.pipeline.extras import kept_tables
from waitbench.pipeline.measuring import Measuring
from waitbench.pipeline.preparation import new_record
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.progress import MachinesProgress
from waitbench.store import comparisons, journal, shares
from waitbench.store.comparisons import COMPARISON_NAME, Contents
from waitbench.system import files, installation

UNITS = ".units"
"""The folder, in that of a comparison, of finished units until they are merged."""


@dataclass
class Collecting:
    """A comparison in its folder."""

    folder: Path
    scenarios: Mapping[str, Scenario]
    """All of it, by name."""
    revisions: Sequence[tuple[str, str, str | None]]
    """Label, text and commit of each."""

    def finished_before(self, settings: Mapping[str, Any]) -> Mapping[str, Contents]:
        """What an earlier session has finished, by scenario; takes away what it has not.

        Raises ``UsageError`` where that is of another comparison than one with these settings.
        """
        if self._is_merged:
            contents = comparisons.read(self.folder)
            self._require_same(contents, settings)
            return dict.fromkeys(self.scenarios, contents)
        found = {}
        for path in self._places():
            found[path.name] = shares.read(path)
            self._require_same(found[path.name], settings)
        for name in self.scenarios:
            if name not in found:
                self.forget(name)
        return found

    def keep(self, scenario: str, line: str) -> None:
        """Keeps a line of a unit's journal, or before these the content of ``comparison.json``.

        Raises ``HarnessError`` when the disk refuses.
        """
        plain = json.loads(line)
        if plain.get("kind") != "comparison":
            files.append_line(self.folder / f"{scenario}{journal.SUFFIX}", line)
        elif not (self.folder / COMPARISON_NAME).exists():
            plain["settings"].pop("share", None)
            files.write_text(self.folder / COMPARISON_NAME, json.dumps(plain, indent=1))

    def finished(self, scenario: str, of_unit: Mapping[str, bytes]) -> Contents:
        """Keeps the files of a finished unit, and reads them. Raises ``UsageError`` for others'."""
        place = self.folder / UNITS / scenario
        half = place.with_name(f".{scenario}.part")
        for path in (place, half):
            shutil.rmtree(path, ignore_errors=True)
        half.mkdir(parents=True)
        for name, content in of_unit.items():
            (half / Path(name).name).write_bytes(content)
        half.rename(place)
        return shares.read(place)

    def leave_out(self, scenario: str, settings: Mapping[str, Any]) -> None:
        """Keeps a unit that nobody need measure any more, as one without runs."""
        self.forget(scenario)
        context = shares.read(self._places()[0]).context
        assert context is not None, "another unit is finished"
        place = self.folder / UNITS / scenario
        place.mkdir()
        comparisons.begin(place, context, settings)
        comparisons.finish(place, [new_record(self.scenarios[scenario], context)])

    def forget(self, scenario: str) -> None:
        """Makes what was begun of a unit void."""
        (self.folder / f"{scenario}{journal.SUFFIX}").unlink(missing_ok=True)

    def merge(self) -> list[Record]:
        """Makes the comparison of its units. Raises ``UsageError`` where they do not fit."""
        if self._is_merged:
            by_name = {record.scenario: record for record in comparisons.read(self.folder).records}
            return [by_name[name] for name in self.scenarios]
        merged = shares.merge([shares.read(path) for path in self._places()])
        shares.write(merged, self.folder)
        shutil.rmtree(self.folder / UNITS)
        return list(merged.records)

    @property
    def _is_merged(self) -> bool:
        """Whether an earlier session has brought it to its end."""
        if (self.folder / UNITS).exists() or any(self.folder.glob(f"*{journal.SUFFIX}")):
            return False
        known = {record.scenario for record in comparisons.resume(self.folder).records}
        return known.issuperset(self.scenarios)

    def _places(self) -> list[Path]:
        """The folders of finished units."""
        return sorted((self.folder / UNITS).glob("[!.]*"))

    def _require_same(self, contents: Contents, settings: Mapping[str, Any]) -> None:
        theirs = {name: value for name, value in contents.settings.items() if name != "share"}
        known = {record.scenario: dict(record.parameters) for record in contents.records}
        asked = {name: dict(one.parameters) for name, one in self.scenarios.items()}
        revisions = contents.context.revisions if contents.context else ()
        same = (
            theirs == json.loads(json.dumps(settings))
            and [(one.label, one.text, one.commit) for one in revisions] == list(self.revisions)
            and all(asked.get(name) == known[name] for name in known)
        )
        if not same:
            raise UsageError(
                f"{str(self.folder)!r} holds another comparison, so it cannot be resumed. Repeat "
                "the command as it was, or name another folder."
            )


@dataclass(kw_only=True)
class Listening:
    """The units of a comparison while they are carried out; see ``cluster.Listener``."""

    valid: ValidRequest
    measuring: Measuring
    concluding: Concluding
    progress: MachinesProgress
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
        if machine.version == installation.version():
            return True
        self.progress.about(f"{machine.name} is left out: its waitbench is {machine.version}")
        return False

    def begun(self, unit: Unit, machine: Machine) -> None:
        self._of(unit).forget(_scenario(unit))

    def told(self, unit: Unit, machine: Machine, line: str) -> None:
        if line.startswith(JOURNAL_MARK):
            self._of(unit).keep(_scenario(unit), line.removeprefix(JOURNAL_MARK))
        else:
            self.progress.tell(machine.name, line)

    def finished(self, unit: Unit, files: Mapping[str, bytes]) -> None:
        contents = self._of(unit).finished(_scenario(unit), files)
        self._finished[unit.name] = contents
        (record,) = contents.records
        if unit.machine is not None:
            return  # one table of all machines says more
        self.concluding.sum_up(record, kept_tables(contents.folder, record.scenario))

    def lost(self, unit: Unit, why: str) -> None:
        self._of(unit).forget(_scenario(unit))
        self.progress.about(f"{_scenario(unit)} is begun anew elsewhere: {why}")

    def silent(self, machine: str, for_s: float) -> None:
        if for_s:
            self.progress.about(
                f"{machine} has not answered for {for_s:.0f} s. What it measures is begun anew "
                "elsewhere when its scheduler gives it up, after five minutes"
            )
        else:
            self.progress.about(f"{machine} answers again")

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
        judged = gate.judge_all(
            records, asked.criteria, asked.most_rounds, elsewhere, acceptances=asked.acceptances
        )
        return any(map(gate.has_failed, judged))

    @property
    def _settings(self) -> Mapping[str, object]:
        return self.measuring.settings(self.valid)

    def _of(self, unit: Unit) -> Collecting:
        return self._collecting[unit.machine]


def _scenario(unit: Unit) -> str:
    return unit.name if unit.machine is None else unit.name.removesuffix(f" on {unit.machine}")
