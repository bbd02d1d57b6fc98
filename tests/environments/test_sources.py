"""The files of a checkout: all of them, as they were when they were looked at."""

import subprocess
from pathlib import Path

import pytest

from waitbench.environments.sources import (
    files_of,
    fingerprint,
    lay_out,
)
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import Checkout


def git(folder: Path, *arguments: str) -> None:
    options = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(
        ["git", "-C", str(folder), *options, *arguments], check=True, capture_output=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a folder, links to it and to a file, and an ignored file."""
    made = tmp_path / "checkout"
    (made / "src").mkdir(parents=True)
    (made / "src" / "lib.rs").write_text("fn a() {}\n")
    (made / ".gitignore").write_text("ignored\n")
    (made / "ignored").write_text("")
    (made / "linked").symlink_to("src")
    (made / "alias.rs").symlink_to("src/lib.rs")
    git(made, "init", "--quiet")
    git(made, "add", ".")
    git(made, "commit", "--quiet", "--message", "all")
    return made


def checkout(folder: Path) -> Checkout:
    names = files_of(folder)
    return Checkout(
        folder=folder, fingerprint=fingerprint(folder, names), commit=None, files=tuple(names)
    )


def test_links_to_folders_are_files_of_a_checkout_and_are_copied_as_links(
    folder: Path, tmp_path: Path
) -> None:
    found = checkout(folder)
    assert found.files == (".gitignore", "alias.rs", "linked", "src/lib.rs")
    lay_out(found, tmp_path / "copy")
    assert (tmp_path / "copy" / "linked" / "lib.rs").read_text() == "fn a() {}\n"


def test_where_a_link_leads_is_part_of_the_fingerprint(folder: Path) -> None:
    before = checkout(folder).fingerprint
    (folder / "other").mkdir()
    (folder / "linked").unlink()
    (folder / "linked").symlink_to("other")
    assert checkout(folder).fingerprint != before


def test_a_link_to_a_folder_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"'out' .* outside"):
        files_of(folder)


def test_files_of_submodules_are_files_of_a_checkout(folder: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "add", "--quiet", str(folder), "inner")
    assert "inner/src/lib.rs" in files_of(outer)
    before = fingerprint(outer, files_of(outer))
    (outer / "inner" / "src" / "lib.rs").write_text("fn b() {}\n")
    assert fingerprint(outer, files_of(outer)) != before


def test_an_empty_submodule_is_said_with_what_fills_it(folder: Path, tmp_path: Path) -> None:
    outer, clone = tmp_path / "outer", tmp_path / "clone"
    outer.mkdir()
    git(outer, "init", "--quiet")
    git(outer, "submodule", "add", "--quiet", str(folder), "inner")
    git(outer, "commit", "--quiet", "--message", "inner")
    git(tmp_path, "clone", "--quiet", str(outer), str(clone))
    with pytest.raises(UsageError, match="git submodule update --init"):
        files_of(clone)


def test_an_edit_between_looking_and_building_is_noticed(folder: Path, tmp_path: Path) -> None:
    found = checkout(folder)
    (folder / "src" / "lib.rs").write_text("fn changed() {}\n")
    with pytest.raises(HarnessError, match="was changed between"):
        lay_out(found, tmp_path / "copy")


def test_a_file_that_goes_meanwhile_is_noticed(folder: Path, tmp_path: Path) -> None:
    found = checkout(folder)
    (folder / "alias.rs").unlink()
    with pytest.raises(HarnessError, match="has gone"):
        lay_out(found, tmp_path / "copy")
