"""Names of system calls."""

from system_calls import NoSuchSystemCall, syscalls  # type: ignore[import-untyped]

_names = syscalls()


def name_of(call: int) -> str:
    try:
        return str(_names.get_name(call))
    except NoSuchSystemCall:
        return f"call {call}"
