"""How the commands of this feature in documents are tried: see ``benchmarks/documents.py``."""

_ONE = "v0.16.0 v0.16.1 -s partitioned-long-input"
SHORTENED = {
    f"./compare.sh {_ONE} --why": f"./compare.sh {_ONE} --processes 2 --rounds 2 --why",
    "./compare.sh --worker workers/queues/rq.toml 2.1.0 2.2.0 --why": (
        "./compare.sh --worker workers/queues/rq.toml 2.1.0 2.2.0 -s rq --rounds 2 --why"
    ),
}
