"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

ELSEWHERE = {
    r"\./waitbench bisect ": (
        "GitHub or hours",
        "tests/features/bisect/test_bisecting.py::test_a_culprit_is_named",
    )
}
