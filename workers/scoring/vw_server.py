"""Vowpal Wabbit as a program, for machines that have only its Python package.

    python vw_server.py -i MODEL -t --quiet -p /dev/stdout

Takes the arguments of ``vw`` and behaves as it does, because it is Vowpal Wabbit's own driver that
reads stdin and writes the predictions: one line for each example as soon as it is done, with the
example's tag, if it has one, after the number.
"""

import sys


def main() -> None:
    from vowpalwabbit import Workspace

    # Told where the data is, the package runs the driver over it at once, and returns at the end of
    # it.
    Workspace(" ".join([*sys.argv[1:], "--data", "/dev/stdin"])).finish()


if __name__ == "__main__":
    main()
