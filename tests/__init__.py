"""The project's own tests, laid out as the package is."""

from hypothesis import settings

# No test asserts on a time, those that hypothesis runs included: machines here are noisy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
