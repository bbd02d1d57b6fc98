"""Memory of the proxy under a long load, and what its clients see when the service behind it is killed and started again.

    .bench/venv/bin/python benchmarks/proxy_memory.py --minutes 10

Half-way the embedding service is killed (SIGKILL) and started again two seconds later.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402

from waitbench.execution.services import make_environment, running  # noqa: E402
from waitbench.families.embedding import load  # noqa: E402
from waitbench.families.embedding import scenarios as embedding  # noqa: E402
from waitbench.system.places import Cache  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    cache = Cache()
    python = make_environment(cache, print)
    with running(python, embedding.plan("proxy-adaptive", 0), cache.folder("logs")) as up:
        proxy = psutil.Process(up.pids["proxy"])
        threading.Timer(
            options.minutes * 30, lambda: _restart(up.pids["embedder"], up.embedder_url, python, cache.folder("logs"))
        ).start()
        questions = load.prepare(up.url, up.embedder_url)
        begun = time.monotonic()
        statuses: Counter[str] = Counter()
        while time.monotonic() - begun < options.minutes * 60:
            seen = load.run(up.url, questions, connections=200, duration_s=20)
            statuses += seen.statuses
            print(
                f"{time.monotonic() - begun:5.0f} s: {proxy.memory_info().rss / 2**20:.1f} MiB, {proxy.num_fds()} descriptors, "
                f"{dict(seen.statuses)}, {seen.wrong} of {seen.checked} wrong",
                flush=True,
            )
    print(f"in all: {dict(statuses)}")


def _restart(pid: int, url: str, python: Path, logs: Path) -> None:
    os.kill(pid, signal.SIGKILL)
    print("the service was killed", flush=True)
    time.sleep(2)
    port = str(urllib.parse.urlsplit(url).port)
    environment = {**os.environ, "PORT": port, "PYTHONPATH": str(ROOT), "EXIT_WITH_STDIN": "1"}
    subprocess.Popen([python, "-m", "services.embedder"], cwd=logs, env=environment, stdin=subprocess.PIPE)
    print("the service was started again", flush=True)


if __name__ == "__main__":
    main()
