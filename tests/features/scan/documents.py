"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

_SCAN = (
    "tests/features/scan/test_scanning.py::test_a_scan_is_measured_in_turn_tabulated_and_reported"
)
SHORTENED = {
    "./compare.sh v0.18.2 v0.21.1 --scan partitions=1,16,256": (
        "./compare.sh v0.18.2 v0.21.1 --scan partitions=1,16,256 --rounds 1"
    ),
}
TESTED = {
    "./compare.sh --worker celery.toml 5.6.3 --scan concurrency=1:32": _SCAN,
    "./compare.sh --worker celery.toml 5.6.3 --scan processes=1:32": (
        "tests/features/scan/test_scanning.py::test_copies_of_a_worker_are_scanned"
    ),
}
ELSEWHERE = {
    r"\./compare\.sh main my-branch .*--scan": ("GitHub", _SCAN),
    r"\./compare\.sh .*--scan ": ("more than 10 minutes", _SCAN),
}
