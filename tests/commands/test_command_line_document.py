"""The tables of docs/command-line.md are what the parser says of itself.

``UPDATE_DOCUMENTS=1`` writes them anew, and drops sections of commands that are gone.
"""

import os
import re
from textwrap import wrap
from typing import Any

import pytest
import typer

import runner
from waitbench.system.paths import ROOT

DOCUMENT = ROOT / "docs" / "command-line.md"
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(runner.make_app()), "commands")  # noqa: B009
SHOWN = list(COMMANDS)
SECTION = re.compile(r"^## ([a-z-]+)\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
"""What the document has of a command, by its name."""
WRAPPED: Any = {"subsequent_indent": "  ", "break_on_hyphens": False, "break_long_words": False}


def first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def usage(name: str) -> str:
    words = ["./waitbench", name]
    for one in COMMANDS[name].params:
        if one.param_type_name == "argument":
            word = f"{one.metavar}{'...' if one.nargs == -1 else ''}"
            words.append(word if one.required else f"[{word}]")
    return " ".join((*words, "[OPTION]...") if options(name) else words)


def options(name: str) -> dict[str, str]:
    """The row of each option of a command, by its longest name."""
    return {
        one.opts[0]: row(one)
        for one in COMMANDS[name].params
        if one.param_type_name == "option" and not one.hidden
    }


def row(option: Any) -> str:
    metavar = option.metavar or "|".join(getattr(option.type, "choices", ()))
    default = option.default
    if isinstance(option.show_default, str):
        shown = option.show_default
    elif isinstance(default, bool):
        shown = "on" if default else "off"
    elif isinstance(default, (list, type(None))):
        shown = ", ".join(default or ())
    else:
        shown = f"{default:g}" if isinstance(default, float) else str(default)
    names = [*sorted(option.opts, key=len), *option.secondary_opts]
    names[len(option.opts) - 1] += f" {metavar}".rstrip()
    cells = (", ".join(f"`{one}`" for one in names), shown, first_paragraph(option.help))
    return "| " + " | ".join(one.replace("|", r"\|") for one in cells) + " |"


def table(name: str) -> list[str]:
    """Its own options, and the names of those that mean the same as those of ``compare``."""
    alike = {} if name == "compare" else options("compare")
    own = {option: row for option, row in options(name).items() if alike.get(option) != row}
    shared = [f"`{one}`" for one in options(name) if one not in own]
    lines = [f"`{usage(name)}`"]
    if own:
        lines += ["", "| option | default | meaning |", "| --- | --- | --- |", *own.values()]
    details = {
        one.opts[0]: one.help.partition("\n\n")[2] for one in COMMANDS[name].params if one.help
    }
    items = [f"* `{option}`: {text}" for option, text in details.items() if text and option in own]
    if items:
        lines += ["", *(line for it in items for line in wrap(it, 120, **WRAPPED))]
    if shared:
        lines += ["", *wrapped(f"As `compare` has them: {', '.join(shared)}.")]
    return lines


def wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= 120:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def commands() -> list[str]:
    """What each command does, and where its options are."""
    rows = [f"| [`{name}`](#{name}) | {first_paragraph(COMMANDS[name].help)} |" for name in SHOWN]
    return ["| command | does |", "| --- | --- |", *rows]


@pytest.mark.parametrize("part", ["commands", *(f"options of {name}" for name in SHOWN)])
def test_the_document_says_what_the_parser_says(part: str) -> None:
    name = part.removeprefix("options of ")
    made = commands() if part == "commands" else table(name)
    expected = f"<!-- {part} -->\n" + "".join(f"{line}\n" for line in (*made, "<!-- end -->"))
    text = DOCUMENT.read_text("utf-8")
    pattern = re.compile(rf"<!-- {part} -->\n.*?<!-- end -->\n", re.DOTALL)
    if os.environ.get("UPDATE_DOCUMENTS"):
        if not pattern.search(text):
            text = text.replace("## Exit codes", f"## {name}\n\n{expected}\n## Exit codes")
        text = pattern.sub(lambda _found: expected, text)
        text = SECTION.sub(lambda section: section[0] if section[1] in SHOWN else "", text)
        DOCUMENT.write_text(text, "utf-8")
    assert pattern.findall(text) == [expected]
    assert set(SECTION.findall(text)) <= set(SHOWN)
