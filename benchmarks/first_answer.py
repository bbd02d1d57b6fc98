"""The fastest answer of a load: directly, through our proxy, and through HAProxy, which only passes on.

    sudo apt-get install haproxy
    .bench/venv/bin/python benchmarks/first_answer.py --rounds 10

It is decided in the first milliseconds, when all clients connect at once, so loads are short and many, in turned order. HAProxy
is written in C and does not gather: what it takes is what any process between costs here. oha makes the load too, where it is installed.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from waitbench.execution import services  # noqa: E402
from waitbench.families.embedding import load  # noqa: E402
from waitbench.families.embedding import scenarios as embedding  # noqa: E402
from waitbench.system.places import Cache  # noqa: E402

HAPROXY = """
global
    nbthread 1
defaults
    mode {mode}
    timeout connect 5s
    timeout queue 60s
    timeout client 60s
    timeout server 60s
    {reuse}
frontend clients
    bind 127.0.0.1:{port}
    default_backend service
backend service
    server embedder {upstream} {limit}
"""
VARIANTS = {
    # With as many calls at once as our proxy makes.
    "haproxy": {"mode": "http", "reuse": "http-reuse always", "limit": "maxconn 2"},
    # Bytes only: it reads no HTTP, and each client has a connection of its own to the service.
    "haproxy-tcp": {"mode": "tcp", "reuse": "", "limit": ""},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duration", type=float, default=1.5, help="seconds of each load")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--call-cost", type=float, nargs="+", default=[0, 5, 40], help="milliseconds")
    options = parser.parse_args()
    cache = Cache()
    python = services.make_environment(cache, print)
    routes = ["direct", "proxy-adaptive", *(VARIANTS if shutil.which("haproxy") else [])]
    for cost in options.call_cost:
        for client in ["ours", *(["oha"] if shutil.which("oha") else [])]:
            fastest_ms: dict[str, list[float]] = {route: [] for route in routes}
            for number in range(options.rounds):
                turn = number % len(routes)
                for route in routes[turn:] + routes[:turn]:
                    fastest_ms[route].append(_fastest_ms(route, cost, client, python, cache.folder("logs"), options))
            for route, values in fastest_ms.items():
                ratio = statistics.median(a / b for a, b in zip(values, fastest_ms["direct"], strict=True))
                print(
                    f"call cost {cost:g} ms, {client:4} {route:14} median {statistics.median(values):5.1f} ms, "
                    f"{min(values):.1f}-{max(values):.1f}; against direct x {ratio:.2f}",
                    flush=True,
                )


def _fastest_ms(route: str, cost_ms: float, client: str, python: Path, logs: Path, options: argparse.Namespace) -> float:
    mode = "direct" if route in VARIANTS else route
    with services.running(python, embedding.plan(mode, cost_ms), logs) as up, _before(up.url, route) as url:
        questions = load.prepare(url, up.embedder_url)
        put = load.run_oha if client == "oha" else load.run_ours
        seen = put(url, questions, options.connections, options.duration)
    if seen.success_rate < 1:
        raise SystemExit(f"{route}: {dict(seen.statuses)}")
    return seen.percentiles_s["min"] * 1000


@contextmanager
def _before(url: str, route: str) -> Iterator[str]:
    """HAProxy before a service, if that is the route."""
    if route not in VARIANTS:
        yield url
        return
    port = services.free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as configuration:
        configuration.write(HAPROXY.format(port=port, upstream=urlsplit(url).netloc, **VARIANTS[route]))
        configuration.flush()
        process = subprocess.Popen(["haproxy", "-f", configuration.name], stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
