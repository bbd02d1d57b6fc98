"""Names that are too wide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waitbench.reporting.shortening import short_names, shorten, shorten_apart


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("partitioned-long-input", 21, "partitioned-…-input"),
        ("partitioned-long-input-heavy-map", 21, "partitioned…heavy-map"),
        ("pathway@0.33.0+autocommit_ms:100", 28, "pathway@…+autocommit_ms:100"),
        ("quixstreams@3.28.0", 17, "quixstre…s@3.28.0"),
    ],
)
def test_what_is_left_out_are_whole_words_where_enough_is_left(
    text: str, width: int, short: str
) -> None:
    assert shorten(text, width) == short


@pytest.mark.parametrize(
    ("texts", "short"),
    [
        (["v0.16.0", "v0.16.1"], ["v0.16.0", "v0.16.1"]),
        (["a" * 20 + "1", "a" * 20 + "2"], ["aaaaa…aaaa1", "aaaaa…aaaa2"]),
        (["a" * 20 + "1" + "b" * 20, "a" * 20 + "2" + "b" * 20], ["aaa…1bbbbb…", "aaa…2bbbbb…"]),
        (["a-long-text-here", "a-long-text-here"], ["a-long…here", "a-long…here"]),
    ],
)
def test_texts_that_differ_still_do(texts: list[str], short: list[str]) -> None:
    assert shorten_apart(texts, 11) == short


@given(st.lists(st.text("ab", max_size=60), max_size=12), st.integers(7, 40))
def test_whatever_the_texts_are_they_fit_and_differ(texts: list[str], width: int) -> None:
    short = shorten_apart(texts, width)
    assert all(len(text) <= width for text in short)
    assert len(set(short)) == len(set(texts))


@pytest.mark.parametrize(
    ("labels", "names", "remarks"),
    [
        (["v0.16.0", "v0.16.1"], ["v0.16.0", "v0.16.1"], ()),
        (
            ["pathway@0.16.2+setuptools==80.9.0", "pathway@0.17.0+setuptools==80.9.0"],
            ["0.16.2", "0.17.0"],
            ("All revisions: with setuptools==80.9.0.", "All are revisions of pathway."),
        ),
        (
            ["v0.21.1", "pathway@0.16.2+setuptools==80.9.0"],
            ["v0.21.1", "pathway@0.16.2"],
            ("pathway@0.16.2: with setuptools==80.9.0.",),
        ),
        (
            ["pathway@0.33.0", "pathway@0.33.0+autocommit_ms:100", "v0.21.1"],
            ["pathway@0.33.0", "pathway@0.33.0+autocommit_ms:100", "v0.21.1"],
            (),
        ),
        (["a-branch-of-mine+a-second-one", "v1"], ["a-branch-of-mine+a-second-one", "v1"], ()),
    ],
)
def test_long_labels_get_short_names_where_these_differ(
    labels: list[str], names: list[str], remarks: tuple[str, ...]
) -> None:
    found = short_names(labels)
    assert [found.of(label) for label in labels] == names
    assert found.remarks == remarks


LABELS = st.from_regex(r"([a-c]@)?v[12](\+[xy]==[12])?(\+long-knob-of-it:[12])?", fullmatch=True)


@given(st.lists(LABELS, max_size=6, unique=True))
def test_names_differ_and_nothing_that_they_leave_out_goes_unsaid(labels: list[str]) -> None:
    found = short_names(labels)
    names = [found.of(label) for label in labels]
    assert len(set(names)) == len(labels)
    for label, name in zip(labels, names, strict=True):
        left_out = [part for part in label.replace("@", "+").split("+") if part not in name]
        assert all(any(part in remark for remark in found.remarks) for part in left_out)
