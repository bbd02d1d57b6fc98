"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

SHORTENED = {
    "./waitbench history": "./waitbench history docs/samples/history",
    "./waitbench history --metric wakeups -s 'partitioned*' --anchor v0.21.1": (
        "./waitbench history --metric wakeups -s 'partitioned*' docs/samples/history"
    ),
}
ELSEWHERE = {
    r"\./waitbench track": (
        "GitHub, and hours",
        "tests/features/history/test_tracking.py::test_each_night_measures_what_is_missing",
    )
}
