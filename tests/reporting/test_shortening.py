"""Names that are too wide, and labels that say more than tells them apart."""

import pytest

from waitbench.reporting.shortening import short_names, shorten


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["v0.16.0", "v0.16.1"], []),
        (["pathway@0.16.2+x==80.9.0", "pathway@0.17.0+x==80.9.0"], ["0.16.2", "0.17.0"]),
        (["pathway@0.33.0", "pathway@0.33.0+autocommit_ms:100", "v0.21.1"], []),
        (["rq@1+redis==5.2.1+a", "rq@1+redis==5.2.1+b"], ["1+a", "1+b"]),
        (["a-branch-of-mine+a-second-one", "v1"], []),
    ],
)  # fmt: skip
def test_long_labels_leave_out_what_all_have(labels: list[str], names: list[str]) -> None:
    assert list(short_names(labels).values()) == names


def test_a_wide_name_keeps_both_ends() -> None:
    assert shorten("partitioned-long-input", 12) == "partit…input"
    assert shorten("short", 12) == "short"
