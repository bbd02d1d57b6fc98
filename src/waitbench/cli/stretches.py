"""What there is to search in: the stretch between two ends, and what a finding hides inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from waitbench.analysis.bisection import Kind
from waitbench.analysis.bisection_stages import Grain, Stage
from waitbench.cli.valid_request import ValidRequest
from waitbench.environments.candidates import Candidates
from waitbench.environments.index import index_of
from waitbench.model.environment import Origin
from waitbench.model.errors import UsageError
from waitbench.model.history import Stretch
from waitbench.model.revision import Commit, Release, Revision

FEWEST = 2
"""Points that there is something to search between."""
_SHOWN_DIGITS = 10


class Which(str, Enum):
    """What is searched."""

    BOTH = "both"
    """Releases where both ends are releases with wheels, then the commits of what that names."""
    RELEASES = "releases"
    COMMITS = "commits"


@dataclass(frozen=True)
class History:
    """What there is to search in."""

    which: Which
    all_parents: bool
    request: ValidRequest

    def first(self) -> tuple[Grain, Stretch]:
        """Where the search begins. Raises ``UsageError`` where there is nothing to search."""
        good, bad = (spec.revision for spec in self.request.specs)
        if good.variant != bad.variant:
            raise UsageError(
                f"{good.label} and {bad.label}: a search is among revisions that differ by their "
                "code only. Name both ends with the same packages and settings."
            )
        released = all(isinstance(one.source, Release) for one in (good, bad))
        if self.which is Which.RELEASES and not released:
            raise UsageError("--releases: name a release for each end, such as v0.16.0.")
        wheels = all(spec.origin is Origin.WHEEL for spec in self.request.specs)
        if self.which is Which.RELEASES and not wheels:
            # A package of ours is on no index; others may lack a wheel.
            index_of(self.request.engine, self.request.cache)
            raise UsageError(
                "--releases: no Python here has a wheel of both ends. Leave it out to search the "
                "commits between them."
            )
        if self.which is Which.COMMITS or not (released and wheels):
            found = self._commits(good, bad)
            if len(found.points) < FEWEST:
                raise UsageError(
                    f"Nothing between {good.label} and {bad.label} can change the package: no file "
                    "that it is built from differs."
                )
            return Grain.COMMITS, found
        index = index_of(self.request.engine, self.request.cache)
        python = self.request.specs[0].python
        return Grain.RELEASES, self._candidates.releases(good, bad, index, python)

    def inside(self, stage: Stage) -> Iterator[tuple[Grain, Stretch]]:
        """What may be searched more finely: the commits of a release, the branch of a merge.

        Raises ``HarnessError`` where the repository cannot be read.
        """
        for finding in (*stage.named(Kind.CULPRIT), *stage.named(Kind.RANGE)):
            if stage.grain is Grain.RELEASES and self.which is not Which.RELEASES:
                like = self.request.specs[0].revision
                good, bad = (stage.revision(at, like) for at in (finding.good, finding.bad))
                yield Grain.COMMITS, self._commits(good, bad)
            merge = stage.commit_of(finding.bad) if finding.kind is Kind.CULPRIT else None
            within = self._candidates.inside(merge) if merge else None
            # Two points are the merge and what was before it: that is known.
            if within is not None and len(within.points) > FEWEST:
                yield Grain.BRANCH, within

    def labels(self, stretch: Stretch) -> tuple[str, ...]:
        """What the points of a stretch are called: the tags of releases, short ids of commits."""
        sources = [point.source for point in stretch.points]
        short = {one.commit[:_SHOWN_DIGITS] for one in sources if isinstance(one, Commit)}
        commits = [one for one in sources if isinstance(one, Commit)]
        digits = _SHOWN_DIGITS if len(short) == len(commits) else None
        return tuple(
            one.commit[:digits]
            if isinstance(one, Commit)
            else self.request.engine.tag_of(one.version)
            for one in sources
        )

    @property
    def _candidates(self) -> Candidates:
        return Candidates(self.request.engine, self.request.repositories)

    def _commits(self, good: Revision, bad: Revision) -> Stretch:
        return self._candidates.commits(good, bad, all_parents=self.all_parents)
