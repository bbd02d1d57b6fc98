"""How a carrier is started: ``python -m carrier FILE.py:CALL WORKERS NAME=VALUE...``."""

import ast
import os
import runpy
import sys
from typing import Any, Dict


def carried() -> Any:
    """The dataflow that the carrier, which is the program here, was started for."""
    # Under its own name, whoever asks for it: a workload does.
    sys.modules["carrier"] = sys.modules["__main__"]
    return load(sys.argv[1])


def workers() -> int:
    """How many worker threads are wanted."""
    return int(sys.argv[2])


def settings() -> Dict[str, str]:
    """The engine's knobs, as the revision under test has them."""
    return dict(argument.split("=", 1) for argument in sys.argv[3:])


def load(text: str) -> Any:
    """Runs the file, and calls what is named in it: ``flow``, or ``get_flow(long_input=True)``.

    What that gives is the dataflow. Arguments are literals: ``ValueError`` for anything else.
    """
    path, _, call = text.rpartition(":")
    names = runpy.run_path(path, run_name=os.path.splitext(os.path.basename(path))[0])
    node = ast.parse(call, mode="eval").body
    if isinstance(node, ast.Name):
        found = names[node.id]
        return found() if callable(found) else found
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError("%r is not a name or a call" % call)
    positional = [ast.literal_eval(argument) for argument in node.args]
    named = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return names[node.func.id](*positional, **named)
