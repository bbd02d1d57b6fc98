"""Made-up repositories of the stand-in, with branches, for what is searched in history."""

from pathlib import Path

from tests import standin
from waitbench.environments import ranges
from waitbench.environments.repository import Repository
from waitbench.model.revision import (
    EnvironmentSpec,
    Interpreter,
    Origin,
    SearchRange,
    Source,
)
from waitbench.system.paths import Cache


class Upstream:
    """A repository that is written commit by commit; its commits are known by their subjects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: dict[str, str] = {}
        if not folder.exists():
            folder.mkdir(parents=True)
            self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> str:
        return standin.git(self.folder, *arguments)

    def commit(self, subject: str, path: str = "src/main.rs", content: str | None = None) -> str:
        """A commit that changes one file, to something new unless ``content`` is given."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(subject if content is None else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        return self._keep(subject)

    def merge(self, branch: str, subject: str) -> str:
        self.git("merge", "--quiet", "--no-ff", "--message", subject, branch)
        return self._keep(subject)

    def switch(self, branch: str, *at: str) -> None:
        """Goes to a branch, or begins a new one ``at`` a commit."""
        self.git("checkout", "--quiet", *(["-b"] if at else []), branch, *at)

    def subjects(self, found: SearchRange) -> list[str]:
        """The subject of the commit of each point."""
        return [point.commit.subject for point in found.points if point.commit]

    def releases(
        self, good: EnvironmentSpec, bad: EnvironmentSpec, python: Interpreter
    ) -> SearchRange:
        return ranges.releases(standin.StandIn(), good, bad, python)

    def commits(self, good: EnvironmentSpec, bad: EnvironmentSpec) -> SearchRange:
        repository = Repository(str(self.folder), Cache(self.folder.parent / "cache"))
        return ranges.commits(standin.StandIn(), repository, good, bad)

    def _keep(self, subject: str) -> str:
        self.ids[subject] = self.git("rev-parse", "HEAD")
        return self.ids[subject]


def at(commit: str, label: str = "") -> EnvironmentSpec:
    """A commit, as a user would have named it."""
    return _spec(label or commit, commit, Source(Origin.SOURCE, commit))


def release(version: str) -> EnvironmentSpec:
    return _spec(f"r{version}", f"r{version}", Source(Origin.WHEEL, version))


def _spec(label: str, text: str, source: Source) -> EnvironmentSpec:
    return EnvironmentSpec(
        label=label, text=text, engine="standin", origin=source.origin, source=source
    )
