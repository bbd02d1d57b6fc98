"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

ELSEWHERE = {
    r"\./waitbench look ": (
        "a worker that runs",
        "tests/features/look/test_look.py::test_a_look_shows_a_process_and_its_busiest_threads",
    )
}
