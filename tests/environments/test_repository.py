"""Where revisions are looked up."""

from pathlib import Path

import pytest

from tests import standin
from waitbench.environments.repository import Repository
from waitbench.model.errors import UsageError
from waitbench.system.places import Cache


def test_a_repository_by_url_is_cloned_once_and_fetched_for_unknown_names(tmp_path: Path) -> None:
    folder = tmp_path / "upstream"
    standin.write_repository(folder)
    said: list[str] = []
    repository = Repository(folder.as_uri(), Cache(tmp_path / "cache"), said.append)
    assert repository.find_commit("main") == standin.git(folder, "rev-parse", "main")
    assert repository.find_commit("release-0.0.1") is not None
    assert len(said) == 1
    standin.git(folder, "branch", "later")
    assert repository.find_commit("later") == standin.git(folder, "rev-parse", "later")
    assert len(said) == 2


@pytest.mark.parametrize(
    "location", ["", "-x", "--upload-pack=touch x", "no/such/folder", "ext::sh -c id", "https://-x"]
)
def test_a_repository_must_be_a_folder_or_a_url(location: str, cache: Cache) -> None:
    with pytest.raises(UsageError):
        Repository(location, cache)


def test_exported_files_have_the_time_of_now_not_of_the_commit(
    repository: Repository, repository_folder: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "marker").touch()
    before = (tmp_path / "marker").stat().st_mtime
    (tmp_path / "out").mkdir()
    repository.export(repository_folder[1]["one"], tmp_path / "out")
    assert (tmp_path / "out" / "src" / "main.rs").stat().st_mtime >= before - 1
