"""What a comparison takes until its first run may begin, when everything is in the cache.

    .bench/venv/bin/python benchmarks/service_setup.py v0.21.1 consumer@2.16.1 -s kafka-idle

Each time anew: the request is read and resolved, the environments are found, and the services that
stay up for the whole comparison start and answer. Then what the services of one run take, which
start before every run. Kept output: docs/trials/service-setup.txt.
"""

import time
from statistics import median

from benchmarks.common import command_line
from benchmarks.preparing import ready


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("revisions", nargs="+", metavar="REVISION")
    parser.add_argument("--scenario", "-s", required=True)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    ready(arguments.revisions, 1, arguments.scenario)  # what is not in the cache yet
    whole, of_run, kept = [], [], "none"
    for number in range(arguments.times):
        begun = time.monotonic()
        prepared = ready(arguments.revisions, 1, arguments.scenario)
        found = time.monotonic()
        with prepared.measuring() as measurer:
            (scenario,) = prepared.request.scenarios
            label, plan = prepared.labels[0], scenario.family.services
            assert plan is not None, "the scenario has services"
            with measurer.bench.prepare(scenario, label):
                first = time.monotonic()
            again = time.monotonic()
            with measurer.bench.prepare(scenario, label):
                of_run.append(time.monotonic() - again)
        whole.append(first - begun)
        names = [one.name for one in plan(scenario.parameters).services if one.is_kept]
        kept = ", ".join(names) or kept
        print(f"{number + 1}: {whole[-1]:.2f} s until the first run ({found - begun:.2f} s without "
              f"services), {of_run[-1]:.2f} s before another one")  # fmt: skip
    print(
        f"kept up: {kept}; of {arguments.times}: median {median(whole):.2f} s, longest "
        f"{max(whole):.2f} s; before another run median {median(of_run):.2f} s"
    )


if __name__ == "__main__":
    main()
