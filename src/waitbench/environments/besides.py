"""What a revision has besides its code: ``+NAME==VERSION`` for packages, ``+KNOB:VALUE``."""

import re
from collections.abc import Mapping

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from waitbench.engines.base import Engine
from waitbench.model.errors import UsageError
from waitbench.system import files

FORMS = "a package beside it is +NAME==VERSION, a knob +KNOB:VALUE"
_PACKAGE = re.compile(r"\+([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)==([^+/]*)$")
_SETTING = re.compile(r"\+([a-z][a-z0-9_]*):([^+/]*)$")


def split(text: str) -> tuple[str, tuple[str, ...], Mapping[str, str]]:
    """What is named, the packages that are to be installed beside it, and the engine's settings.

    Raises ``UsageError`` for what is named twice, and for what is no version.
    """
    alone = text
    beside: list[str] = []
    settings: dict[str, str] = {}
    named: set[str] = set()
    while (found := _PACKAGE.search(alone) or _SETTING.search(alone)) and not files.is_there(alone):
        is_package = found.re is _PACKAGE
        name = canonicalize_name(found[1]) if is_package else found[1]
        if name in named:
            raise UsageError(f"{text!r} has {found[1]} twice: name it once.")
        named.add(name)
        if is_package:
            _require_version(text, found[1], found[2])
            beside.insert(0, f"{found[1]}=={found[2]}")
        else:
            settings[name] = found[2]
        alone = alone[: found.start()]
    return alone, tuple(beside), settings


def require_settings(text: str, engine: Engine, settings: Mapping[str, str]) -> None:
    """Raises ``UsageError`` for a setting that an engine does not have, or a value out of it."""
    for name, value in sorted(settings.items()):
        knob = engine.settings.get(name)
        if knob is None:
            raise UsageError(
                f"{text!r}: {engine.name} has no setting {name!r}. It has: "
                f"{engine.knobs or 'none'}."
            )
        if not knob.takes(value):
            raise UsageError(
                f"{text!r}: {name} takes {knob.domain}, such as {name}:{knob.default}."
            )


def _require_version(text: str, name: str, version: str) -> None:
    try:
        Version(version)
    except InvalidVersion as error:
        raise UsageError(
            f"{text!r}: {version!r} is not a version of {name}. Pin one, such as {name}==1.0."
        ) from error
