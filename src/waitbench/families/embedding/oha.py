"""A load by oha, the published command's client."""

import json
import subprocess

from waitbench.families.embedding.traffic import Load, Questions
from waitbench.model.errors import HarnessError

_PERCENTILES = {"50%": "p50", "90%": "p90", "99%": "p99"}
_LONGER_THAN_LOAD_S = 60.0


def put(url: str, questions: Questions, connections: int, duration_s: float) -> Load:
    """Puts a load on ``url``. All requests have the same texts, so no answer can be checked.

    Raises ``HarnessError`` where oha fails.
    """
    body = json.dumps({"inputs": list(questions.texts[0])})
    command = [
        "oha", "--no-tui", "--output-format", "json", "--latency-correction",
        "-c", str(connections), "-z", f"{duration_s:g}s",
        "-m", "POST", "-d", body, "-H", "Content-Type: application/json", f"{url}/embed",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=duration_s + _LONGER_THAN_LOAD_S,
    )
    if done.returncode != 0:
        raise HarnessError(f"oha failed: {done.stderr.strip()[:300]}")
    try:
        return parse(done.stdout)
    except (ValueError, KeyError, TypeError) as error:
        raise HarnessError(
            f"oha's output is not understood ({error!r}); is it older than 1.5?"
        ) from error


def parse(text: str) -> Load:
    """Reads the JSON of oha 1.5 and later. Raises ``ValueError``, ``KeyError`` or ``TypeError``."""
    data = json.loads(text)
    summary, percentiles = data["summary"], data["latencyPercentiles"]
    load = Load("oha", float(summary["total"]), body_bytes=int(summary["totalData"] or 0))
    load.statuses.update(
        {str(code): int(count) for code, count in data["statusCodeDistribution"].items()}
    )
    errors = {str(name): int(count) for name, count in data["errorDistribution"].items()}
    # What was under way when the time was over; oha does not count these as failures either.
    errors.pop("aborted due to deadline", None)
    load.statuses.update(errors)
    figures = {
        "min": summary["fastest"],
        "mean": summary["average"],
        **{name: percentiles[key] for name, key in _PERCENTILES.items()},
        "max": summary["slowest"],
    }
    # Null where nothing was answered.
    load.percentiles_s = {
        name: float(value) for name, value in figures.items() if value is not None
    }
    return load
