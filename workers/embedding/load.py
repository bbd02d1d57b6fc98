"""Has many clients at once ask an embedding service, or the proxy before it.

    python load.py direct|proxied SERVICE_PORT PROXY_PORT CONNECTIONS SECONDS INPUTS METRICS

Each client asks again when it has its answer. One answer in fifty is compared with what the service
itself says of the same texts.
"""

import json
import sys
from pathlib import Path

import client
import traffic
from traffic import Load

_WARM_UP_CONNECTIONS = 8
"""A full batch of the published rule: one alone would wait a second for each answer."""
_WARM_UP_S = 1.0


def main(
    how: str, service: str, proxy: str, connections: str, seconds: str, inputs: str, metrics: str
) -> None:
    service_url, proxy_url = (f"http://127.0.0.1:{port}" for port in (service, proxy))
    url = proxy_url if how == "proxied" else service_url
    questions = traffic.make_questions(service_url, int(inputs))
    client.put(url, questions, _WARM_UP_CONNECTIONS, _WARM_UP_S)
    calls = traffic.upstream_calls(proxy_url)
    print("ready", flush=True)
    load = client.put(url, questions, int(connections), float(seconds))
    calls = traffic.upstream_calls(proxy_url) - calls
    Path(metrics).write_text(json.dumps(figures(load, calls or load.answered)) + "\n", "utf-8")


def figures(load: Load, calls: int) -> dict[str, float | list[float]]:
    """What the load came to, by metric. Ends the program for what was not answered right."""
    if load.wrong or not load.answered:
        failed = traffic.failures(load.statuses, load.last_words)
        sys.exit(f"{load.wrong} of {load.checked} answers were wrong; failed: {failed or 'none'}")
    return {
        "request": load.latencies_s,
        "rate": load.requests_per_s,
        "size": load.body_bytes / load.answered,
        "success": 100 * load.success_rate,
        "requests-per-call": load.answered / max(calls, 1),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
