"""Where revisions are looked up, and the files of a checkout, as they were when looked at."""

from pathlib import Path

import pytest

from tests import standin
from tests.histories import Upstream
from tests.standin import git
from waitbench.environments.repository import Repository, checkouts, export, read_file, snapshot
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.revision import SourceTree
from waitbench.system.paths import Cache


def test_a_repository_by_url_is_cloned_once_and_fetched_for_what_may_have_moved(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "upstream"
    commits = standin.write_repository(folder)
    messages: list[str] = []

    def repository() -> Repository:
        """That of another command."""
        messages.clear()
        return Repository(folder.as_uri(), Cache(tmp_path / "cache"), messages.append)

    first = repository()
    for _ in range(2):
        assert first.find_commit("main") == commits["two"]
    assert [text.split()[0] for text in messages] == ["cloning", "main"]
    fixed = repository()
    assert fixed.find_commit("release-0.0.1") == commits["one"]
    assert fixed.find_commit(commits["one"][:9]) == commits["one"]
    assert messages == []
    standin.git(folder, "branch", "later")
    three = Upstream(folder).commit("three", "more")
    moved = repository()
    assert moved.find_commit("later") == commits["two"]
    assert moved.find_commit("main") == three
    standin.git(folder, "checkout", "--quiet", "-b", "trunk", "HEAD~1")
    assert repository().find_commit("HEAD") == commits["two"], "that of its default branch"
    folder.rename(tmp_path / "gone")
    offline = repository()
    assert offline.find_commit("main") == moved.find_commit("main")
    assert "cannot be reached: main is taken as it was fetched last" in messages[-1]
    with pytest.raises(UsageError, match="cannot be reached"):
        offline.find_commit("no-such-branch")


def test_a_release_is_found_by_its_tag_with_a_v(tmp_path: Path, cache: Cache) -> None:
    upstream, messages = Upstream(tmp_path / "upstream"), list[str]()
    first = upstream.commit("one", "text")
    upstream.git("tag", "v1.0", first)
    upstream.commit("two", "text")
    assert Repository(upstream.folder.as_uri(), cache, messages.append).find_commit("1.0") == first
    assert [text.split()[0] for text in messages] == ["cloning"], "a tag does not move"


def test_a_copy_follows_branches_that_are_deleted_or_renamed(tmp_path: Path, cache: Cache) -> None:
    upstream = Upstream(tmp_path / "upstream")
    commit = upstream.commit("one", "text")
    upstream.git("branch", "part")
    upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    url = upstream.folder.as_uri()
    assert Repository(url, cache).find_commit("part") == commit
    upstream.git("branch", "--move", "part", "part/more")
    assert Repository(url, cache).find_commit("part/more") == commit
    with pytest.raises(UsageError, match="no commit, branch or tag 'part'"):
        Repository(url, cache).find_commit("part")
    lonely = upstream.git("commit-tree", "HEAD^{tree}", "-m", "lonely")
    repository = Repository(url, cache)
    assert repository.find_commit(lonely) == lonely
    assert repository.find_commit("part/more") == commit


def test_a_fetch_that_was_killed_does_not_prevent_the_next(tmp_path: Path, cache: Cache) -> None:
    folder, repositories = tmp_path / "upstream", cache.folder("repositories")
    standin.write_repository(folder)
    Repository(folder.as_uri(), cache).find_commit("main")
    (copy,) = repositories.iterdir()
    (copy / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    for name in ("refs/heads/main.lock", "packed-refs.lock"):
        (copy / name).touch()
    three = Upstream(folder).commit("three", "more")
    assert Repository(folder.as_uri(), cache).find_commit("main") == three
    # A clone that was killed is made again.
    copy.rename(copy.with_name(f"{copy.name}.part"))
    assert Repository(folder.as_uri(), cache).find_commit("main") == three
    assert [it.name for it in repositories.iterdir()] == [copy.name]


def test_what_a_shallow_clone_lacks_is_said_with_what_brings_it(
    tmp_path: Path, cache: Cache
) -> None:
    upstream, clone = tmp_path / "upstream", tmp_path / "clone"
    commits = standin.write_repository(upstream)
    standin.git(tmp_path, "clone", "--quiet", "--depth", "1", upstream.as_uri(), str(clone))
    assert Repository(str(upstream), cache).find_commit(commits["one"]) == commits["one"]
    with pytest.raises(UsageError, match=f"{commits['one']}.*shallow clone.*fetch-depth: 0"):
        Repository(str(clone), cache).find_commit(commits["one"])


@pytest.mark.parametrize(
    "location",
    ["", "-x", "--upload-pack=touch x", "no/such/folder", "ext::sh -c id", "https://-x"],
)
def test_a_repository_must_be_a_folder_of_gits_or_a_url(
    location: str, tmp_path: Path, cache: Cache
) -> None:
    with pytest.raises(UsageError):
        Repository(location, cache)
    # Releases alone can be compared beside any folder.
    with pytest.raises(UsageError, match=r"is not a git repository that can be read.* git says: "):
        Repository(str(tmp_path), cache).find_commit("main")


def test_files_are_exported_with_the_time_of_now_and_also_those_that_are_not_for_archives(
    tmp_path: Path,
) -> None:
    folder, out = tmp_path / "upstream", tmp_path / "out"
    standin.write_repository(folder)
    (folder / ".gitattributes").write_text("src export-ignore\nversion export-subst\n")
    (folder / "version").write_text("$Format:%H$\n")
    (folder / "linked").symlink_to("src")
    commit = Upstream(folder).commit("attributes", "new")
    (folder / "untracked").touch()
    out.mkdir()
    export(SourceTree(folder, commit), out)
    # cargo would take a file of the commit's time for one that was built before.
    assert (out / "linked" / "main.rs").stat().st_mtime >= (folder / "untracked").stat().st_mtime
    assert (out / "version").read_text() == "$Format:%H$\n"
    assert not (out / "untracked").exists()
    assert standin.git(folder, "status", "--porcelain") == "?? untracked"


def test_what_has_a_submodule_is_not_built_without_it(tmp_path: Path, cache: Cache) -> None:
    folder = tmp_path / "upstream"
    commits = standin.write_repository(folder)
    link = f"160000,{commits['one']},inner"
    standin.git(folder, "update-index", "--add", "--cacheinfo", link)
    standin.git(folder, "commit", "--quiet", "--message", "submodule")
    commit = standin.git(folder, "rev-parse", "HEAD")
    (tmp_path / "out").mkdir()
    for location in (str(folder), folder.as_uri()):
        source_tree = SourceTree(Repository(location, cache).folder(), commit)
        with pytest.raises(HarnessError, match="submodule, 'inner'"):
            export(source_tree, tmp_path / "out")
    with pytest.raises(UsageError, match=r"submodule, 'inner'.* Build a wheel of this"):
        snapshot(folder, cache)


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


def exported(source_tree: SourceTree, target: Path) -> dict[str, str]:
    """The files of a tree, and what is in them."""
    target.mkdir()
    export(source_tree, target)
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
    source_tree = SourceTree(checkouts(cache), tree)
    assert (git(folder, "status", "--porcelain"), git(folder, "count-objects")) == before
    (folder / "src" / "lib.rs").write_text("fn later() {}\n")
    copied = exported(source_tree, tmp_path / "copy")
    assert {*copied} == {".gitignore", "ignored", "new.rs", "src/lib.rs"}
    assert copied["src/lib.rs"] == "fn changed() {}\n"
    assert (tmp_path / "copy" / "linked" / "lib.rs").read_text() == "fn changed() {}\n"
    assert read_file(source_tree, "new.rs") == "fn new() {}\n"
    assert snapshot(folder, cache) != tree


def test_a_folder_of_a_repository_is_a_checkout_of_its_own_and_one_without_git_is_none(
    folder: Path, tmp_path: Path, cache: Cache
) -> None:
    tree = snapshot(folder / "src", cache)
    source_tree = SourceTree(checkouts(cache), tree)
    assert exported(source_tree, tmp_path / "copy") == {"lib.rs": "fn a() {}\n"}
    (folder / "elsewhere").write_text("")
    assert snapshot(folder / "src", cache) == tree
    with pytest.raises(UsageError, match="git cannot read the files of"):
        snapshot(tmp_path, cache)
