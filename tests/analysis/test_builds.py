"""What the revisions of a comparison have in common besides their names, and what they have not."""

from tests.records import contestant, facts, make_record, times
from waitbench.analysis import statistics
from waitbench.model.record import RevisionRecord


def test_a_build_is_identical_only_to_one_with_the_same_files() -> None:
    digests = {"a": "1", "b": "2", "c": "1", "d": "1", "e": "", "f": ""}
    libraries = {"a": "x", "b": "x", "c": "x", "d": "x", "e": "", "f": ""}
    revisions = [
        contestant(
            label,
            facts=facts(
                package_sha256=digest,
                extensions={"x.so": libraries[label]} if libraries[label] else {},
            ),
        )
        for label, digest in digests.items()
    ]
    revisions[5] = contestant("f", facts=None)
    record = make_record({label: [] for label in digests}, revisions=tuple(revisions))
    rows = statistics.compare(record).rows
    assert [row.identical_to for row in rows] == [None, None, "a", "a", None, None]
    assert [row.same_library_as for row in rows] == [None, "a", "a", "a", None, None]


def installing(label: str, version: str, *others: str) -> RevisionRecord:
    """A revision of this version, beside other packages."""
    known = facts(package_version=version, requirements=(*others, f"stand_in=={version}"))
    return contestant(label, facts=known)


def test_other_packages_that_differ_are_named_with_who_has_which() -> None:
    alone = RevisionRecord(label="d", text="d", origin="wheel", facts=None)
    record = make_record(
        {label: [times(1, 1, 1)] for label in "abc"},
        revisions=(
            installing("a", "0.1.0", "json==3.0.1", "same==1", "only_here==1"),
            installing("b", "0.2.0", "json==3.0.2", "same==1"),
            installing("c", "0.2.0", "json==3.0.1", "same==1"),
            alone,
        ),
    )
    assert statistics.compare(record).other_packages == ("json 3.0.1 (a, c), 3.0.2 (b)",)


def test_a_package_that_happens_to_have_the_engines_version_once_is_another_all_the_same() -> None:
    record = make_record(
        {"a": [times(1, 1, 1)], "b": [times(1, 1, 1)]},
        revisions=(installing("a", "3.0.1", "json==3.0.1"), installing("b", "3.0.3", "json==4")),
    )
    assert statistics.compare(record).other_packages == ("json 3.0.1 (a), 4 (b)",)
