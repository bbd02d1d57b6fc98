"""What is said of a run that failed."""

from pathlib import Path

import pytest

from waitbench.execution.measure import _last_words

CHAIN = """
Traceback (most recent call last):
  File "scorers/process.py", line 1, in ask
    os.read(fd)
scorers.process.ModelError: model process 7 ended with exit code -9; its stderr is empty

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "flow.py", line 2, in step
    ask()
ValueError: in two
lines

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "run.py", line 3, in <module>
RuntimeError: (src/run.rs) error in step
"""


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("", ""),
        ("a\nlast\n\n", ": last"),
        (
            CHAIN + "Warning: Ignoring non-zero exit code\n",
            ": RuntimeError: (src/run.rs) error in step; from ValueError: in two; from "
            "scorers.process.ModelError: model process 7 ended with exit code -9; its stderr is "
            "empty",
        ),
        (CHAIN[: CHAIN.index("The above")], ": scorers.process.ModelError: model process 7 "
            "ended with exit code -9; its stderr is empty"),
        (CHAIN + CHAIN.replace("(src/run.rs) error", "another"), ": RuntimeError: another in step"),
        (CHAIN + "Segmentation fault\n", ": Segmentation fault"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_run_are_its_whole_chain_of_exceptions(
    tmp_path: Path, stderr: str, said: str
) -> None:
    path = tmp_path / "stderr"
    path.write_text(stderr)
    assert _last_words(path).startswith(said)
    assert _last_words(path).count("RuntimeError") <= 1
    assert bool(said) == bool(_last_words(path))
