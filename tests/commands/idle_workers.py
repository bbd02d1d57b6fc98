"""Workers that are commands and wait, and their files."""

from pathlib import Path


def program(folder: Path, name: str, pause_s: float, first: str = ":") -> Path:
    """A program that does something first, says that it is up, and wakes up after each pause."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{first}\necho up\nwhile :; do sleep {pause_s:g}; done\n")
    path.chmod(0o755)
    return path


def worker(folder: Path, more: str = "", name: str = "mine", window_s: float = 1) -> Path:
    """A worker file for such programs."""
    path = folder / f"{name}.toml"
    path.write_text(
        "command = '{revision}'\nready = { log = 'up' }\nsettled = { seconds = 0.2 }\n"
        f"window = {window_s}\n{more}"
    )
    return path
