"""The forms of a verdict that ``--output FORMAT=FILE`` writes: a format is a module and a line."""

import json
from collections.abc import Callable, Mapping

from waitbench.analysis.gate import GateVerdict
from waitbench.reporting.gate import annotations, junit, markdown, plain

FORMATS: Mapping[str, Callable[[GateVerdict], str]] = {
    "annotations": lambda verdict: "".join(f"{line}\n" for line in annotations.render(verdict)),
    "json": lambda verdict: json.dumps(plain.plain(verdict), indent=1) + "\n",
    "junit": junit.render,
    "markdown": markdown.render,
}
"""What renders a verdict as the text of a file, by the name that users type."""
