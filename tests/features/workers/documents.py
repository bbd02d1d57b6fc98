"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

ELSEWHERE = {
    r"\./waitbench workers": (
        "more than 10 minutes",
        "tests/features/workers/test_workers.py::test_what_fails_is_said_in_its_row_and_the_others_are_measured",
    )
}
