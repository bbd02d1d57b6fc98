"""A Context -> what its revisions have in common besides their names, and what they have not."""

from waitbench.model.record import Context


def other_packages(context: Context) -> tuple[str, ...]:
    """Packages besides the engine whose versions differ.

    Such as ``jsonpickle 3.0.1 (v0.16.0), 3.0.2 (v0.16.1)``.
    """
    versions: dict[str, dict[str, list[str]]] = {}
    for revision in context.revisions:
        for text in revision.facts.requirements if revision.facts else ():
            name, _, version = text.partition("==")
            if revision.facts is None or version != revision.facts.package_version:
                versions.setdefault(name, {}).setdefault(version, []).append(revision.label)
    return tuple(
        f"{name} " + ", ".join(f"{version} ({', '.join(of)})" for version, of in found.items())
        for name, found in sorted(versions.items())
        if len(found) > 1
    )


def identical_to(label: str, context: Context) -> str | None:
    """An earlier revision with the same compiled extensions."""
    extensions = {r.label: r.facts.extensions if r.facts else {} for r in context.revisions}
    for earlier, hashes in extensions.items():
        if earlier == label:
            return None
        if hashes and hashes == extensions[label]:
            return earlier
    return None
