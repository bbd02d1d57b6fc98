"""A Context -> what its revisions have in common besides their names, and what they have not."""

from collections.abc import Callable

from waitbench.model.environment import Facts
from waitbench.model.record import Context


def other_packages(context: Context) -> tuple[str, ...]:
    """Packages besides the engine whose versions differ.

    Such as ``jsonpickle 3.0.1 (v0.16.0), 3.0.2 (v0.16.1)``.
    """
    installed = {r.label: r.facts for r in context.revisions if r.facts is not None}
    versions: dict[str, dict[str, list[str]]] = {}
    for label, facts in installed.items():
        for text in facts.requirements:
            name, _, version = text.partition("==")
            versions.setdefault(name, {}).setdefault(version, []).append(label)
    # An engine is what has the revision's version in all that are of it.
    own_versions: dict[str | None, dict[str, list[str]]] = {}
    for one in context.revisions:
        if one.facts is not None:
            of_engine = own_versions.setdefault(one.engine, {})
            of_engine.setdefault(one.facts.package_version, []).append(one.label)
    return tuple(
        f"{name} " + ", ".join(f"{version} ({', '.join(of)})" for version, of in found.items())
        for name, found in sorted(versions.items())
        if len(found) > 1 and found not in own_versions.values()
    )


def identical_to(label: str, context: Context) -> str | None:
    """An earlier revision whose installed package is the same, file for file."""
    return _earlier_alike(label, context, lambda facts: facts.package_sha256)


def same_library_as(label: str, context: Context) -> str | None:
    """An earlier revision with the same compiled extensions, whose other files may differ."""
    return _earlier_alike(label, context, lambda facts: facts.extensions)


def _earlier_alike(label: str, context: Context, take: Callable[[Facts], object]) -> str | None:
    """The first revision before this one of which the same is known, if it is anything at all."""
    known = {one.label: take(one.facts) if one.facts else None for one in context.revisions}
    return next(
        (
            earlier
            for earlier in context.labels[: context.labels.index(label)]
            if known[earlier] and known[earlier] == known[label]
        ),
        None,
    )
