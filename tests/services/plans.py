"""Plans of servers for tests: ours, perhaps with a proxy before it."""

from collections.abc import Mapping

from waitbench.families.embedding import traffic
from waitbench.model.scenario import Service, ServicePlan


def plan(
    proxy: Mapping[str, str] | None = None,
    *,
    embedder: Mapping[str, str] | None = None,
    url: str | None = None,
) -> ServicePlan:
    """An embedder, or somebody else's at ``url``; and a proxy, where there are settings for one."""
    services = [] if url else [Service(name="embedder", settings=embedder or {})]
    if proxy is not None:
        services.append(
            Service(
                name="proxy",
                settings=proxy,
                upstream_variable="INFERENCE_SERVICE_URL",
                counters=lambda at: {"upstream_calls": traffic.upstream_calls(at)},
            )
        )
    return ServicePlan(services=tuple(services), url=url)
