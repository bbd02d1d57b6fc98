"""The project's own tests, laid out as the package is."""

import pytest
from hypothesis import settings

# Helpers that assert: without this, a failure in one of them shows no values.
pytest.register_assert_rewrite(
    "tests.frozen.checking", "tests.running", "tests.waiting", "tests.standin"
)

# No test asserts on a time, those that hypothesis runs included: machines here are noisy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
