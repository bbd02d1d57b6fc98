"""The same comparison by several machines -> what each says, and what all of them do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from waitbench.analysis import machines, statistics
from waitbench.analysis.gate import GateVerdict
from waitbench.model.errors import ExitCode
from waitbench.pipeline.concluding import Output, publish_markdown
from waitbench.pipeline.gating import Gate
from waitbench.reporting import machines as reporting
from waitbench.reporting.console import print_tables
from waitbench.reporting.markdown import render_table
from waitbench.store import comparisons, folders, shares
from waitbench.store.comparisons import Contents
from waitbench.system import files
from waitbench.system.places import Cache

DOCUMENT = "machines"
"""The name of what is written into a folder."""


@dataclass(frozen=True, kw_only=True)
class Everywhere:
    """How whole comparisons by several machines are set side by side; no round is moved."""

    results: Path | None
    """Where the report is kept as JSON, if anywhere."""
    is_held: bool = False
    """Whether that folder is there, and ours to write into; else it is made."""
    markdown: Path | None = None
    output: Output

    def report(self, named: Sequence[Path]) -> ExitCode:
        """Says what each machine found, what holds for machines like these, and the exit code.

        The allowed error of a gate is shared by the machines, so that the chance that any of them
        fails although nothing changed is what it is on one. Raises ``UsageError`` where the folders
        are not of the same revisions and scenarios.
        """
        if self.markdown is not None:
            files.require_writable(self.markdown)
        contents = [shares.read_whole(folder) for folder in named]
        shares.require_comparable(contents)
        compared = [statistics.compare_all(each.records) for each in contents]
        found = machines.across(compared)
        letters = reporting.letters(len(contents))
        called = dict(zip(letters, map(_machine_of, contents), strict=True))
        verdicts = _verdicts(dict(zip(letters, contents, strict=True)))
        tables = reporting.tables(found, called)
        said = [
            *reporting.sentences(found, called),
            *reporting.verdict_sentences(verdicts),
        ]
        data = reporting.plain(found, called, verdicts)
        if self.output.as_json:
            print(json.dumps(data, indent=2))
        else:
            answers = self.output.answers
            if not self.output.quiet:
                print_tables(tables, answers)
            for sentence in said:
                answers.print(sentence, soft_wrap=True)
        text = "\n".join([*map(render_table, tables), *(f"{it}\n" for it in said)])
        publish_markdown(text, self.markdown)
        self._keep(data)
        return _exit_code(contents, list(verdicts.values()))

    def _keep(self, data: Mapping[str, object]) -> None:
        if self.results is None:
            return
        if self.is_held:
            comparisons.write_document(self.results, DOCUMENT, data)
            return
        with folders.removed_if_unused(self.results):
            folder = folders.new_folder(self.results)
            with folders.exclusive(folder, Cache()):
                comparisons.write_document(folder, DOCUMENT, data)


def _machine_of(contents: Contents) -> str:
    assert contents.context is not None, "it was read as a whole comparison"
    return reporting.name_of(contents.context.machine)


def _verdicts(by_letter: Mapping[str, Contents]) -> dict[str, GateVerdict]:
    gates = {letter: Gate.read_settings(one.settings) for letter, one in by_letter.items()}
    return {
        letter: gates[letter].conclude(one.records, sharing=len(by_letter))
        for letter, one in by_letter.items()
        if gates[letter].is_on
    }


def _exit_code(contents: Sequence[Contents], verdicts: Sequence[GateVerdict]) -> ExitCode:
    codes = [verdict.exit_code for verdict in verdicts]
    if ExitCode.REGRESSION in codes:
        return ExitCode.REGRESSION
    failed = not codes and any(record.failures for one in contents for record in one.records)
    return ExitCode.FAILED if failed else max(codes, default=ExitCode.OK)
