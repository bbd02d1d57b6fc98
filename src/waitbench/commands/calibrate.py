"""``calibrate``: compares a revision with itself, many times: what is the gate worth here?"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from waitbench.analysis import calibration
from waitbench.commands import options
from waitbench.commands.options import with_request_options
from waitbench.environments import revisions
from waitbench.execution.measure import Measurer
from waitbench.execution.session import Session
from waitbench.model.environment import OriginChoice
from waitbench.model.errors import ExitCode, UsageError
from waitbench.pipeline import gating
from waitbench.pipeline.concluding import VERDICT_NAME, publish
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import Measuring, RunRecorder
from waitbench.pipeline.preparation import Prepared, prepare
from waitbench.pipeline.request import Request, ValidRequest, validate
from waitbench.pipeline.resuming import recording
from waitbench.reporting import calibration as reporting
from waitbench.reporting.console import make_console
from waitbench.reporting.progress import PreparationLog, RunProgress
from waitbench.store import comparisons, folders
from waitbench.system import endings
from waitbench.system.places import Cache, shown

EXAMPLES = """
\b
Examples:
  ./waitbench calibrate v0.21.1
  ./waitbench calibrate v0.21.1 --comparisons 40 --fail-on cpu:5% -s 'partitioned*'
"""

SUMMARY_NAME = "calibration"


@with_request_options
def calibrate(
    revision: Annotated[str, typer.Argument(metavar="REVISION")],
    number: Annotated[
        int,
        typer.Option("--comparisons", metavar="N", help="How often to compare it with itself."),
    ] = 20,
    gate: options.GateDefaults = False,
    fail_on: options.FailOn = [],
    fail_fast: options.FailFast = False,
    max_rounds: options.MostRounds = 10,
    full: options.Full = False,
    *,
    request: Request,
    origin: options.Origin = OriginChoice.AUTO,
    results: Annotated[
        Optional[Path],
        typer.Option(
            metavar="FOLDER",
            help="Where they go.",
            show_default=f"{shown(Cache().root)}/calibration",
        ),
    ] = None,
    instruments: options.Instruments = True,
    quiet: options.Quiet = False,
) -> None:
    """Compare a revision with itself many times: false alarms of the gate, and what it finds.

    Without --fail-on, it has the criteria of --gate.

    Comparisons that are in the results folder already are kept and counted, so a stopped
    calibration goes on where it was.
    """
    text = revisions.without_label(revision)
    asked = Gate(
        criteria=gating.read_criteria(fail_on, max_rounds, defaults=gate or not fail_on),
        most_rounds=gating.last_look(max_rounds),
        fail_fast=fail_fast,
        full=full,
    )
    asked_for = replace(
        request,
        revisions=(f"A={text}", f"B={text}"),
        origin=origin,
        instrumented=instruments,
        required_metrics=asked.needs,
    )
    folder = results or Cache().folder("calibration")
    calibrating = Calibrating(gate=asked, number=number, folder=folder, quiet=quiet)
    raise typer.Exit(calibrating.calibrate(asked_for, make_console()))


@dataclass(frozen=True, kw_only=True)
class Calibrating:
    """A number of comparisons of a revision, as ``A``, with itself, as ``B``."""

    gate: Gate
    number: int
    folder: Path
    quiet: bool

    def calibrate(self, request: Request, output: Console) -> ExitCode:
        """Makes the comparisons that are missing, and says what all of them show."""
        if self.number < 1:
            raise UsageError(f"--comparisons {self.number}: must be at least 1.")
        say = PreparationLog(output, quiet=self.quiet)
        valid = validate(request, say, quick=not self.gate.full)
        fitting = replace(self, gate=self.gate.supported_by(valid.instruments, valid.scenarios))
        return fitting._carry_out(valid, output, say)

    def _carry_out(self, valid: ValidRequest, output: Console, say: PreparationLog) -> ExitCode:
        kept = f"Finished comparisons are kept in {self.folder}; the same command goes on."
        with folders.exclusive(self.folder, valid.cache), endings.noted(kept):
            prepared = prepare(valid, output, say)
            if prepared.errors:
                return ExitCode.FAILED
            settings = self._settings(valid)
            self._require_same(prepared, settings)
            with prepared.measuring(follows_pace=True) as measurer:
                for number in range(1, self.number + 1):
                    one = self.folder / f"comparison-{number:03d}"
                    if not (one / f"{VERDICT_NAME}.json").exists():
                        self._compare_once(prepared, measurer, one, settings, output)
            self._report(output)
        return ExitCode.OK

    def _settings(self, valid: ValidRequest) -> dict[str, object]:
        """Everything that comparisons which count together have in common besides the builds."""
        settings = {
            "gate": self.gate.as_settings(),
            "instruments": sorted(valid.instruments.keys),
            "time_limit_s": valid.time_limit_s,
            "scenarios": {one.name: dict(one.parameters) for one in valid.scenarios},
        }
        # As a file gives it back.
        return json.loads(json.dumps(settings))  # type: ignore[no-any-return]

    def _require_same(self, prepared: Prepared, settings: Mapping[str, object]) -> None:
        for earlier in self._finished():
            found = comparisons.read(earlier)
            identity = found.context and found.context.identity
            if identity != prepared.context.identity or found.settings != settings:
                what = "something else"
                if identity == prepared.context.identity:
                    what = f"this, but with other {_differing(found.settings, settings)}"
                raise UsageError(
                    f"{str(self.folder)!r} holds a calibration of {what}; name another --results."
                )

    def _compare_once(
        self,
        prepared: Prepared,
        measurer: Measurer,
        folder: Path,
        settings: Mapping[str, object],
        output: Console,
    ) -> None:
        folder.mkdir(exist_ok=True)
        for left in folder.glob("*.runs.jsonl"):
            left.unlink()  # of a comparison that was interrupted: it is made anew
        with (
            recording(prepared, folder, settings) as records,
            RunProgress(output, quiet=self.quiet or not output.is_terminal) as progress,
        ):
            session = Session(measurer, records, RunRecorder(folder, progress))
            how_much = Measuring(gate=self.gate, rounds=0, extras=Extras())
            how_much.measure_by(session, prepared, records)
        verdict = self.gate.conclude(records.values())
        publish(verdict, self.gate, folder)
        if not self.quiet:
            outcome = "false alarm" if verdict.failures else "pass"
            if verdict.not_measured:
                outcome = "not measured, so not counted"
            output.print(f"{folder.name} of {self.number}: {outcome}")

    def _finished(self) -> list[Path]:
        found = self.folder.glob(f"comparison-*/{VERDICT_NAME}.json")
        return sorted(path.parent for path in found)

    def _report(self, output: Console) -> None:
        records = [comparisons.read(path).records for path in self._finished()]
        found = calibration.calibrate(records, self.gate.criteria, self.gate.most_rounds)
        reporting.print_calibration(found, output)
        comparisons.write_document(self.folder, SUMMARY_NAME, reporting.plain(found))
        output.print(
            f"Raw data in {self.folder}: {SUMMARY_NAME}.json, comparison-*/", soft_wrap=True
        )


def _differing(these: Mapping[str, object], those: Mapping[str, object]) -> str:
    """The names of what two settings do not have in common."""
    names = sorted({*these, *those})
    return " and ".join(name for name in names if these.get(name) != those.get(name))
