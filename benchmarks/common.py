"""What several benchmarks need."""

import argparse


def command_line(documentation: str | None) -> argparse.ArgumentParser:
    """A parser whose ``--help`` begins with a module's docstring, laid out as it is there."""
    return argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
