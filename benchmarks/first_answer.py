"""The fastest answer of a load: directly, through our proxy, and through HAProxy.

    sudo apt-get install haproxy
    .bench/venv/bin/python benchmarks/first_answer.py --rounds 10

It is decided in the first milliseconds, when all clients connect at once, so loads are short and
many, in turned order. HAProxy is written in C, gathers nothing and only passes on: what it takes is
what any process in between costs here. oha makes the load too, where it is installed. Kept output:
docs/trials/first-answer.txt.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from benchmarks.common import command_line
from waitbench.execution import servers, services
from waitbench.execution.plan import in_turn
from waitbench.families.embedding import client, load, oha, scenarios
from waitbench.families.embedding.traffic import Load, Questions
from waitbench.system.places import Cache

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
STARTS_WITHIN_S = 0.3
"""After this HAProxy listens."""

Put = Callable[[str, Questions, int, float], Load]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What all routes have in common: the client, its load, the service and where that runs."""

    put: Put
    call_cost_ms: float
    connections: int
    duration_s: float
    python: Path
    """What runs the services."""
    logs: Path


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--duration", type=float, default=1.5, help="seconds of each load")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument(
        "--call-cost", type=float, nargs="+", default=[0, 5, 40], help="milliseconds"
    )
    options = parser.parse_args()
    cache = Cache()
    python = services.make_environment(cache, print)
    clients: dict[str, Put] = {"ours": client.put}
    if shutil.which("oha"):
        clients["oha"] = oha.put
    for cost_ms in options.call_cost:
        for name, put in clients.items():
            trial = Trial(
                put=put,
                call_cost_ms=cost_ms,
                connections=options.connections,
                duration_s=options.duration,
                python=python,
                logs=cache.folder("logs"),
            )
            compare_routes(trial, options.rounds, f"call cost {cost_ms:g} ms, {name:4}")


def compare_routes(trial: Trial, rounds: int, title: str) -> None:
    """Puts a load on every route in each round, and prints what the fastest answers took."""
    routes = ["direct", "proxy-adaptive", *(VARIANTS if shutil.which("haproxy") else [])]
    fastest_ms: dict[str, list[float]] = {route: [] for route in routes}
    for number in range(rounds):
        for route in in_turn(routes, number):
            fastest_ms[route].append(time_fastest_ms(trial, route))
    for route, values in fastest_ms.items():
        pairs = zip(values, fastest_ms["direct"], strict=True)
        ratio = median(value / direct for value, direct in pairs)
        print(
            f"{title} {route:14} median {median(values):5.1f} ms, "
            f"{min(values):.1f}-{max(values):.1f}; against direct x {ratio:.2f}",
            flush=True,
        )


def time_fastest_ms(trial: Trial, route: str) -> float:
    """The milliseconds that the fastest answer of one load took."""
    mode = "direct" if route in VARIANTS else route
    plan = scenarios.plan(mode, call_cost_ms=trial.call_cost_ms)
    with (
        services.running(trial.python, plan, trial.logs) as up,
        _entrance(up.url, route) as url,
    ):
        questions = load.prepare(url, up.urls[0])
        seen = trial.put(url, questions, trial.connections, trial.duration_s)
    if seen.success_rate < 1:
        raise SystemExit(f"{route}: {dict(seen.statuses)}")
    return seen.percentiles_s["min"] * 1000


@contextmanager
def _entrance(url: str, route: str) -> Iterator[str]:
    """Where clients go: to a service itself, or to HAProxy in front of it, as the route has it."""
    if route not in VARIANTS:
        yield url
        return
    port = servers.free_port()
    with NamedTemporaryFile("w", suffix=".cfg") as configuration:
        configuration.write(
            HAPROXY.format(port=port, upstream=urlsplit(url).netloc, **VARIANTS[route])
        )
        configuration.flush()
        process = subprocess.Popen(["haproxy", "-f", configuration.name], stderr=subprocess.DEVNULL)
        try:
            time.sleep(STARTS_WITHIN_S)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
