"""The workflow that searches on GitHub, ``examples/github-bisect.yml``."""

from pathlib import Path

import pytest

from tests.actions import ask, outputs_in


@pytest.mark.parametrize(
    ("text", "good", "bad", "code", "ends"),
    [
        ("Slow!\nbisect v0.20.1 main\r\nOh", "", "", 0, ("v0.20.1", "main")),
        ("bisect a b\nbisect c d", "", "", 0, ("a", "b")),
        ("", "v1", "later", 0, ("v1", "later")),
        ("bisect $(touch pwned) main", "", "", 2, (None, None)),
    ],
)
def test_a_text_of_anybody_names_revisions_and_nothing_else(
    text: str, good: str, bad: str, code: int, ends: tuple[str | None, ...], tmp_path: Path
) -> None:
    done = ask("bisect", tmp_path, TEXT=text, GOOD=good, BAD=bad)
    assert done.returncode == code, done.stdout + done.stderr
    outputs = outputs_in(tmp_path)
    assert (outputs.get("good"), outputs.get("bad")) == ends
    assert not (tmp_path / "pwned").exists()
