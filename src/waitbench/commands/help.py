"""The help of commands: a line for each option, or its whole text with ``--help-all``."""

from itertools import chain
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from waitbench.model.errors import ExitCode
from waitbench.system import installation

_GROUPS = {
    "What to compare": "revisions worker scenario settings python repo origin",
    "How to measure": "rounds budget processes workers topology full time_limit",
    "Gate": "gate fail_on limit inconclusive accepted",
    "Output": "results resume plot quiet verbose as_json",
}
"""The headings of a long help, each with its parameters. Other parameters are listed last."""
_MOST_UNGROUPED = 20
"""If a command has more options, they are grouped."""
_EXAMPLES = 3
"""The number of examples in brief help."""


class CommandGroup(TyperGroup):
    """The program, which lists its commands if the user names none."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            print(ctx.get_help())
            raise typer.Exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)


class Subcommand(TyperCommand):
    """A command, whose usage line has the name by which the user called the program."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)
        params[-1].help = "Show this message; --help-all has more."
        flag: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False}
        flag |= {"hidden": True, "callback": _print_all}
        return [*params, TyperOption(param_decls=["--help-all"], **flag)]

    def get_short_help_str(self, limit: int = 0) -> str:
        return (self.help or "").partition("\n\n")[0]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        words = ["[OPTIONS]"]
        for argument in self.params:
            if isinstance(argument, TyperArgument):
                name = f"{argument.metavar}{'' if argument.nargs == 1 else '...'}"
                words.append(name if argument.required else f"[{name}]")
        formatter.write_usage(installation.called(str(ctx.info_name)), " ".join(words))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        params = {str(it.name): it for it in self.get_params(ctx)}
        rows = {name: row for name, it in params.items() if (row := it.get_help_record(ctx))}
        width = max(len(names) for names, _ in rows.values())
        if is_long := len(rows) > _MOST_UNGROUPED:
            groups = {title: names.split() for title, names in _GROUPS.items()}
        else:
            groups = {"Arguments": [it for it in rows if isinstance(params[it], TyperArgument)]}
        others = [name for name in rows if name not in chain(*groups.values())]
        for title, members in (*groups.items(), ("More" if is_long else "Options", others)):
            part = [(rows[it][0].ljust(width), rows[it][1]) for it in members if it in rows]
            if _is_brief(ctx):
                room = formatter.width - width - 2 * formatter.indent_increment
                part = [(names, _brief(text, room)) for names, text in part]
            if part:
                with formatter.section(title):
                    formatter.write_dl(part, col_max=width)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if _is_brief(ctx) and self.epilog:
            self.epilog = "\n".join(self.epilog.strip().splitlines()[: 2 + _EXAMPLES])
        super().format_epilog(ctx, formatter)


def _print_all(ctx: Any, _option: TyperOption, is_requested: bool) -> None:
    if is_requested:
        ctx.ensure_object(dict)[_print_all] = True
        print(ctx.get_help())
        raise typer.Exit


def _is_brief(ctx: Any) -> bool:
    return _print_all not in ctx.ensure_object(dict)


def _brief(text: str, room: int) -> str:
    """The first paragraph of a help text, without the default value if that would not fit."""
    first = text.partition("\n\n")[0]
    return first if len(first) <= room else first.partition("  [default")[0]
