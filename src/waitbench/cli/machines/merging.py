"""Shares of a comparison -> the comparison, and what it means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from waitbench.cli import paging
from waitbench.cli.concluding import Concluding
from waitbench.cli.gating import Gate
from waitbench.cli.output import Output
from waitbench.model.errors import ExitCode
from waitbench.model.share import Share
from waitbench.reporting.traces import tables
from waitbench.store import folders, shares, traces
from waitbench.system import files
from waitbench.system.places import RESULTS, Cache


@dataclass(frozen=True, kw_only=True)
class Merging:
    """How one comparison is made of shares."""

    results: Path | None
    store: Path = RESULTS
    """Where a folder is made if none is named."""
    markdown: Path | None = None
    junit: Path | None = None
    html: Path | None = None
    plot: bool
    output: Output

    def merge(self, named: Sequence[Path]) -> ExitCode:
        """Merges folders into a new one, and says what the comparison means.

        Raises ``UsageError`` where they are not all shares of one comparison; nothing is created
        then.
        """
        found = shares.merge([shares.read(folder) for folder in named])
        gate = replace(Gate.read_settings(found.settings), markdown=self.markdown, junit=self.junit)
        gate.validate()
        for sentence in found.unknown:
            self.output.progress.print(sentence, style="yellow", soft_wrap=True)
        if self.html is not None:
            files.require_writable(self.html)
        names = tuple(record.scenario for record in found.records)
        with folders.removed_if_unused(self.results):
            folder = folders.new_folder(self.results, found.context.labels, store=self.store)
            with folders.exclusive(folder, Cache()):
                shares.write(found, folder)
                traced = {name: traces.of(folder, name) for name in names}
                concluding = Concluding(
                    gate=gate,
                    share=Share(scenarios=names, of=names),
                    plot=self.plot,
                    is_traced=any(traced.values()),
                    output=self.output,
                )
                for record in found.records:
                    of_traces = tables(record.scenario, traced[record.scenario])
                    concluding.sum_up(record, of_traces)
                code = concluding.conclude(found.records, folder)
                if self.html is not None:
                    paging.write(self.html, [folder], newest=0)
        return code
