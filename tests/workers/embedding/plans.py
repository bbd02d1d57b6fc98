"""Plans of services for tests: ours, perhaps with a proxy before it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from waitbench.model.scenario import Service, ServicePlan
from waitbench.system.places import WORKERS

SCRIPTS = WORKERS / "embedding"


def plan(
    proxy: Mapping[str, str] | None = None,
    *,
    embedder: Mapping[str, str] | None = None,
    url: str | None = None,
) -> ServicePlan:
    """An embedder, or somebody else's at ``url``; and a proxy, where there are settings for one."""
    upstream = [url] if url else []

    def embeds(port: int, _folder: Path, python: Path) -> Sequence[str]:
        upstream[:] = [f"http://127.0.0.1:{port}"]
        return command(python, "embedder", port, embedder or {})

    def proxies(port: int, _folder: Path, python: Path) -> Sequence[str]:
        settings = {**(proxy or {}), "INFERENCE_SERVICE_URL": upstream[0]}
        return command(python, "proxy", port, settings)

    services = [] if url else [Service(name="embedder", settings={}, command=embeds)]
    if proxy is not None:
        services.append(Service(name="proxy", settings={}, command=proxies))
    return ServicePlan(services=tuple(services), url=url)


def command(python: Path, name: str, port: int, settings: Mapping[str, str]) -> Sequence[str]:
    """The command line of one of them."""
    given = [f"{key}={value}" for key, value in settings.items()]
    return ["env", f"PORT={port}", *given, str(python), str(SCRIPTS / f"{name}.py")]
