"""Parts that several benchmarks share."""

import argparse


def command_line(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose ``--help`` begins with a module's docstring, with its line breaks."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
