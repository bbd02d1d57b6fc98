"""What was made of many folders of results, kept in a database, so that it need not be made again.

The folders are the truth; the database may be thrown away at any time.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waitbench.model.errors import UsageError
from waitbench.store.comparisons import COMPARISON_NAME

_LAYOUT = 1
"""Another one makes everything anew."""
_SCHEMA = """
CREATE TABLE version (content TEXT);
CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT UNIQUE, changed TEXT);
CREATE TABLE told (folder INTEGER, metric TEXT, content TEXT);
CREATE INDEX by_metric ON told (metric, folder);
"""
_PATIENCE_S = 60
_AT_ONCE = 200
"""Folders whose content is written together."""

Make = Callable[[Path], Iterable[tuple[str, Mapping[str, Any]]]]
"""What a folder tells: plain data, each with the metric that it is about."""
Step = Callable[[int, int], None]
"""Called with the number of folders read anew, and of those to read."""


def find(roots: Sequence[Path]) -> list[Path]:
    """All folders that hold a comparison, in these and below them; ``latest`` is not followed.

    Their paths are absolute, and the same however a root was named.
    """
    found = []
    for root in roots:
        for folder, below, names in os.walk(root.resolve()):
            below.sort()
            if COMPARISON_NAME in names:
                found.append(Path(folder))
    return list(dict.fromkeys(found))


@dataclass
class Index:
    """Keeps what folders tell; see ``Make``."""

    path: Path
    make: Make
    version: str
    """Of what makes it; another one makes everything anew."""
    unreadable: dict[Path, str] = field(default_factory=dict)
    """Why folders tell nothing, of those that the last reading met."""

    def told(self, folders: Sequence[Path], metrics: Sequence[str], step: Step) -> Iterator[Any]:
        """What the folders tell of some metrics, those that changed read anew; see ``find``."""
        with closing(self._open()) as database:
            known = self._bring_up(database, folders, step)
            for metric in metrics:
                for identity, content in database.execute(
                    "SELECT folder, content FROM told WHERE metric = ? ORDER BY folder", (metric,)
                ):
                    if identity in known:
                        yield json.loads(content)

    def _bring_up(
        self,
        database: sqlite3.Connection,
        folders: Sequence[Path],
        step: Step,
    ) -> set[int]:
        """Reads what changed. Returns the numbers of the folders."""
        kept = {
            path: (identity, changed)
            for identity, path, changed in database.execute("SELECT id, path, changed FROM folders")
        }
        # Files are replaced, never written into, so a folder tells that something in it changed.
        now = {str(path): _changed(path) for path in folders}
        stale = [path for path, changed in now.items() if kept.get(path, (0, ""))[1] != changed]
        for number, path in enumerate(stale, 1):
            self._read(database, Path(path), now[path])
            if number % _AT_ONCE == 0:
                database.commit()
            step(number, len(stale))
        database.commit()
        rows = database.execute("SELECT id, path FROM folders")
        return {identity for identity, path in rows if path in now}

    def _read(self, database: sqlite3.Connection, folder: Path, changed: str) -> None:
        database.execute(
            "DELETE FROM told WHERE folder IN (SELECT id FROM folders WHERE path = ?)",
            (str(folder),),
        )
        database.execute("DELETE FROM folders WHERE path = ?", (str(folder),))
        try:
            told = list(self.make(folder))
        except UsageError as error:
            self.unreadable[folder] = str(error)
            return
        identity = database.execute(
            "INSERT INTO folders (path, changed) VALUES (?, ?)", (str(folder), changed)
        ).lastrowid
        database.executemany(
            "INSERT INTO told VALUES (?, ?, ?)",
            [(identity, metric, json.dumps(content)) for metric, content in told],
        )

    def _open(self) -> sqlite3.Connection:
        """The database, made anew where it is of another version, or is none.

        Where it cannot be written it is one in memory.
        """
        wanted = f"{_LAYOUT} {self.version}"
        try:
            database = sqlite3.connect(self.path, timeout=_PATIENCE_S)
            if _version_of(database) == wanted:
                return database
            database.close()
            self.path.unlink()
            database = sqlite3.connect(self.path, timeout=_PATIENCE_S)
            return _prepared(database, wanted)
        except (sqlite3.OperationalError, OSError):
            return _prepared(sqlite3.connect(":memory:"), wanted)


def _version_of(database: sqlite3.Connection) -> str | None:
    """What made a database; ``None`` where nothing of ours did."""
    try:
        (found,) = database.execute("SELECT content FROM version").fetchone()
    except sqlite3.DatabaseError:
        return None
    return str(found)


def _prepared(database: sqlite3.Connection, version: str) -> sqlite3.Connection:
    with database:
        database.executescript(_SCHEMA)
        database.execute("INSERT INTO version VALUES (?)", (version,))
    return database


def _changed(folder: Path) -> str:
    """Tells whether anything in a folder was added, replaced or removed."""
    try:
        status = folder.stat()
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_mtime_ns}"
