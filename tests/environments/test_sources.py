"""The files of a checkout: all of them, as they were when they were looked at."""

from pathlib import Path

import pytest

from tests.standin import git
from waitbench.environments.repository import checkouts, export, read_file, snapshot
from waitbench.model.environment import SourceTree
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache


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


def exported(sources: SourceTree, target: Path) -> dict[str, str]:
    """The files of a tree, and what is in them."""
    target.mkdir()
    export(sources, target)
    paths = (path for path in target.rglob("*") if path.is_file())
    return {str(path.relative_to(target)): path.read_text() for path in paths}


def test_a_checkout_is_built_as_it_was_looked_at_and_is_left_as_it_is(
    folder: Path, tmp_path: Path, cache: Cache
) -> None:
    (folder / "src" / "lib.rs").write_text("fn changed() {}\n")
    (folder / "new.rs").write_text("fn new() {}\n")
    (folder / "alias.rs").unlink()
    git(folder, "add", "--force", "ignored")
    before = git(folder, "status", "--porcelain"), git(folder, "count-objects")
    tree = snapshot(folder, cache)
    sources = SourceTree(checkouts(cache), tree)
    assert (git(folder, "status", "--porcelain"), git(folder, "count-objects")) == before
    (folder / "src" / "lib.rs").write_text("fn later() {}\n")
    found = exported(sources, tmp_path / "copy")
    assert {*found} == {".gitignore", "ignored", "new.rs", "src/lib.rs"}
    assert found["src/lib.rs"] == "fn changed() {}\n"
    assert (tmp_path / "copy" / "linked" / "lib.rs").read_text() == "fn changed() {}\n"
    assert read_file(sources, "new.rs") == "fn new() {}\n"
    assert snapshot(folder, cache) != tree


def test_a_folder_of_a_repository_is_a_checkout_of_its_own_and_one_without_git_is_none(
    folder: Path, tmp_path: Path, cache: Cache
) -> None:
    tree = snapshot(folder / "src", cache)
    sources = SourceTree(checkouts(cache), tree)
    assert exported(sources, tmp_path / "copy") == {"lib.rs": "fn a() {}\n"}
    (folder / "elsewhere").write_text("")
    assert snapshot(folder / "src", cache) == tree
    with pytest.raises(UsageError, match="git cannot read the files of"):
        snapshot(tmp_path, cache)


def test_where_a_link_leads_is_part_of_a_checkout_and_may_not_be_outside(
    folder: Path, tmp_path: Path, cache: Cache
) -> None:
    before = snapshot(folder, cache)
    (folder / "other").mkdir()
    (folder / "linked").unlink()
    (folder / "linked").symlink_to("other")
    assert snapshot(folder, cache) != before
    (tmp_path / "file").touch()
    for target in (tmp_path, tmp_path / "file"):
        (folder / "out").symlink_to(target)
        with pytest.raises(UsageError, match=r"'out' .* outside"):
            snapshot(folder, cache)
        (folder / "out").unlink()


def test_a_checkout_with_a_submodule_is_not_built_without_it(
    folder: Path, tmp_path: Path, cache: Cache
) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet")
    allowed = ("-c", "protocol.file.allow=always")
    git(outer, *allowed, "submodule", "add", "--quiet", str(folder), "inner")
    git(outer, "commit", "--quiet", "--message", "all")
    git(tmp_path, "clone", "--quiet", str(outer), "without")
    for checkout in (outer, tmp_path / "without"):
        with pytest.raises(UsageError, match=r"submodule, 'inner'.* Build a wheel of it"):
            snapshot(checkout, cache)
