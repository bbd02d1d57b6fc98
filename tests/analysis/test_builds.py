"""What the revisions of a comparison have in common besides their names, and what they have not."""

from tests.records import contestant, facts, make_record, times
from waitbench.analysis import statistics
from waitbench.model.record import Contestant


def test_a_build_is_identical_to_the_first_with_the_same_extensions() -> None:
    labels = ("a", "b", "c", "d", "e", "f")
    hashes = [{"x": "1"}, {"x": "2"}, {"x": "1"}, {"x": "1"}, {}, {}]
    revisions = [
        contestant(label, facts=facts(extensions=extensions))
        for label, extensions in zip(labels, hashes, strict=True)
    ]
    revisions[5] = contestant("f", facts=None)
    record = make_record({label: [] for label in labels}, revisions=tuple(revisions))
    found = [row.identical_to for row in statistics.compare(record).rows]
    assert found == [None, None, "a", "a", None, None]


def installing(label: str, version: str, *others: str) -> Contestant:
    """A revision of this version, beside other packages."""
    known = facts(package_version=version, requirements=(*others, f"stand_in=={version}"))
    return contestant(label, facts=known)


def test_other_packages_that_differ_are_named_with_who_has_which() -> None:
    alone = Contestant(label="d", text="d", origin="wheel", facts=None)
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
