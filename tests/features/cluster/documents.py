"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

_SHARE = "tests/features/cluster/test_sharing.py::test_a_shard_measures_its_scenarios_and_leaves"
_ON_DASK = "tests/features/cluster/test_on_dask.py::test_two_workers_find_what_one_machine_finds"
TESTED = {
    "./waitbench merge shard-1 shard-2 shard-3 --results whole": _SHARE,
    "dask scheduler --host 10.0.0.1": _ON_DASK,
    "export DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False": _ON_DASK,
    "dask worker tcp://10.0.0.1:8786 --nthreads 1 --no-nanny": _ON_DASK,
}
ELSEWHERE = {
    r"\./compare\.sh main my-branch --gate --shard ": ("other machines", _SHARE),
    r"\./compare\.sh main my-branch --gate --on ": ("other machines", _ON_DASK),
}
