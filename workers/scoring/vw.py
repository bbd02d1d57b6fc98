"""Vowpal Wabbit: which program is run, and the model that it is given.

The model is trained once, into the user's cache.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from blocking import BlockingScorer
from problem import CONTEXTS, INTERACTIONS, Problem

LEARNING = [
    "--loss_function", "logistic", "--link", "logistic", "--l2", "1e-6", "-l", "0.1",
    "--bit_precision", "22",
    *(part for pair in INTERACTIONS for part in ("-q", pair)), "--holdout_off", "--quiet",
]  # fmt: skip
SHOWN_PER_CONTEXT = 300
"""How many of a context's candidates the model sees: it learns the groups' taste in seconds."""


def program() -> list[str]:
    """``vw`` where PATH has one; else our own, of the Python package."""
    installed = shutil.which("vw")
    return (
        [installed]
        if installed
        else [sys.executable, str(Path(__file__).with_name("vw_server.py"))]
    )


def arguments(model: Path) -> list[str]:
    """What the program is told in order to score: the model, and not to learn from questions."""
    return ["-i", str(model), "-t", "--quiet"]


def command(model: Path) -> list[str]:
    """The argument list of a model process."""
    return [*program(), *arguments(model), "-p", "/dev/stdout"]


def model_file() -> Path:
    """The trained model in the user's cache. Trains it if it is not there."""
    return train(Path.home() / ".cache" / "waitbench" / "models")


def train(folder: Path) -> Path:
    """Trains on each context with some of its candidates, by the program that will score.

    Raises ``ModelError``.
    """
    settings = repr(
        (LEARNING, SHOWN_PER_CONTEXT, program()[0] if shutil.which("vw") else "package")
    )
    source = Path(__file__).with_name("problem.py").read_bytes()
    model = folder / (f"scoring-{hashlib.sha256(settings.encode() + source).hexdigest()[:16]}.vw")
    if model.exists():
        return model
    folder.mkdir(parents=True, exist_ok=True)
    partial = model.with_name(f".{model.name}.{os.getpid()}")
    problem = Problem()
    candidates = [candidate.encode() for candidate in problem.candidates]
    scorer = BlockingScorer([*program(), *LEARNING, "-f", str(partial)], batch=100, write_only=True)
    for number in range(CONTEXTS):
        # Another part of the candidates for each context, so that all are seen.
        first = number * SHOWN_PER_CONTEXT % (len(candidates) - SHOWN_PER_CONTEXT + 1)
        shown = slice(first, first + SHOWN_PER_CONTEXT)
        scorer.train(
            problem.context(number).encode(), candidates[shown], problem.labels(number)[shown]
        )
    scorer.close()
    if not partial.exists():
        raise scorer.process.failure("left no model")
    partial.replace(model)
    return model
