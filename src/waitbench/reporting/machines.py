"""The machines of a comparison: what was measured where."""

from collections.abc import Iterable, Mapping

from waitbench.model.record import Record


def name_of(machine: Mapping[str, object]) -> str:
    """What people tell it from others by."""
    number = machine.get("cpus")
    cpus = "" if number is None else ", 1 CPU" if number == 1 else f", {number} CPUs"
    kind = machine.get("cpu") or machine.get("architecture") or "unknown processor"
    return f"{kind}{cpus} ({machine.get('fingerprint', 'unknown')})"


def where_measured(records: Iterable[Record]) -> str | None:
    """Says what was measured where; ``None`` where it was all on one machine."""
    found: dict[str, list[str]] = {}
    for record in records:
        found.setdefault(name_of(record.measured_on), []).append(record.scenario)
    if len(found) < 2:
        return None
    where = "; ".join(f"{', '.join(names)} on {machine}" for machine, names in found.items())
    return f"Measured on {len(found)} machines, no scenario on two of them: {where}."
