r"""Whether a history tells of pairs of revisions what measuring them side by side does.

    .bench/venv/bin/python benchmarks/network_pairs.py HISTORY DIRECT [--metric steady] \
        [--anchor REVISION]

HISTORY and DIRECT are folders with folders of results. Of each pair of revisions that a comparison
of DIRECT has measured in the same rounds, the history's ratio with its interval stands beside that
of the comparison. Comparisons of DIRECT must not be among those of HISTORY.
"""

import math
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from benchmarks.common import command_line
from waitbench.analysis.history import commonest, networks
from waitbench.analysis.telling import Told
from waitbench.cli import past
from waitbench.model.series import titles


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("history", type=Path)
    parser.add_argument("direct", type=Path)
    parser.add_argument("--metric", default="steady")
    parser.add_argument("--anchor")
    options = parser.parse_args()
    print(" ".join(["benchmarks/network_pairs.py", *sys.argv[1:]]))
    metric = past.metric_named(options.metric)
    told, direct = past.told([options.history], metric), past.told([options.direct], metric)
    joined = networks(told, options.anchor or commonest(told) or "")
    called = titles(joined)
    within = total = 0
    for one in direct:
        network = joined.get(one.series)
        for baseline, candidate, ratio in pairs(one):
            if network is None or not {baseline, candidate} <= set(network.revisions):
                continue
            known = network.ratio(candidate, baseline)
            assert known.low is not None and known.high is not None
            holds = known.low <= ratio <= known.high
            within, total = within + holds, total + 1
            print(
                f"{called[one.series]}: {candidate} against {baseline}: history × "
                f"{known.value:.3f} ({known.low:.3f}–{known.high:.3f}), side by side × {ratio:.3f}"
                f"{'' if holds else '  OUTSIDE'}"
            )
    print(f"{within} of {total} within the interval of the history")


def pairs(one: Told) -> Iterator[tuple[str, str, float]]:
    """Each pair of revisions of a comparison, and the ratio of the second to the first."""
    logs = dict(zip(one.sitting.revisions, one.sitting.logs, strict=True))
    for baseline, candidate in combinations(logs, 2):
        yield baseline, candidate, math.exp(logs[candidate] - logs[baseline])


if __name__ == "__main__":
    main()
