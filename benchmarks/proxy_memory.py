"""Memory of the proxy under a long load, and what clients see when the service behind it is killed.

    .bench/venv/bin/python benchmarks/proxy_memory.py --minutes 10

Half-way the embedding service is killed (SIGKILL), and started again two seconds later. Kept
output: docs/trials/proxy-memory.txt.
"""

import os
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.common import command_line
from waitbench.execution import services
from waitbench.execution.servers import Server
from waitbench.families.embedding import load, scenarios
from waitbench.system.places import ROOT, Cache

CONNECTIONS = 200
LOAD_S = 20
"""How long each of the loads lasts that make up the long one."""
DOWN_S = 2


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    cache = Cache()
    logs = cache.folder("logs")
    python = services.make_environment(cache, print)
    plan = scenarios.plan("proxy-adaptive")
    with services.running(python, plan, logs) as up:
        servers = {server.service.name: server for server in up.servers}
        embedder, proxy = servers["embedder"], psutil.Process(servers["proxy"].pid)
        restart = threading.Timer(options.minutes * 30, restart_service, (embedder, python, logs))
        # A load that fails ends the benchmark at once.
        restart.daemon = True
        restart.start()
        questions = load.prepare(up.url, embedder.url)
        begun = time.monotonic()
        statuses: Counter[str] = Counter()
        while time.monotonic() - begun < options.minutes * 60:
            seen = load.put(up.url, questions, CONNECTIONS, LOAD_S)
            statuses += seen.statuses
            print(
                f"{time.monotonic() - begun:5.0f} s: {proxy.memory_info().rss / 2**20:.1f} MiB, "
                f"{proxy.num_fds()} descriptors, {dict(seen.statuses)}, "
                f"{seen.wrong} of {seen.checked} wrong",
                flush=True,
            )
    print(f"in all: {dict(statuses)}")


def restart_service(server: Server, python: Path, logs: Path) -> None:
    """Kills a service, and starts it again on the same port. The new one ends with this program."""
    os.kill(server.pid, signal.SIGKILL)
    print("the service was killed", flush=True)
    time.sleep(DOWN_S)
    environment = {
        **os.environ,
        **server.service.settings,
        "PORT": str(urlsplit(server.url).port),
        "PYTHONPATH": str(ROOT),
        "EXIT_WITH_STDIN": "1",
    }
    # Nobody closes the other end of the pipe before this program ends.
    stdin, _ = os.pipe()
    subprocess.Popen(
        [str(python), "-m", f"services.{server.service.name}"],
        cwd=logs,
        env=environment,
        stdin=stdin,
    )
    print("the service was started again", flush=True)


if __name__ == "__main__":
    main()
