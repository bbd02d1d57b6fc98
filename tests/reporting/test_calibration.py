"""What people read of a calibration."""

import json

from tests.reporting.printing import lines_of
from waitbench.analysis.calibration import Calibration, Sensitivity
from waitbench.reporting import calibration

FOUND = Calibration(
    comparisons=40,
    false_alarms=1,
    low=0.0006,
    high=0.132,
    sensitivities=(
        Sensitivity(
            place="waiting",
            criterion="system:10%",
            spread=0.05,
            by_rounds={3: 11.0, 5: 10.0, 8: 3.0, 10: 1.26, 12: 1.2},
        ),
    ),
)


def test_the_rate_and_what_would_be_found_are_shown() -> None:
    lines = lines_of(lambda console: calibration.print_calibration(FOUND, console))
    assert " ".join(lines[:2]) == (
        "False alarms: 1 of 40 comparisons of the revision with itself (2.5%, 95 % CI 0.1%–13.2%); "
        "5% are allowed."
    )
    assert lines[2:] == [
        "Smallest rise found 95% of the time",
        "scenario  criterion   5 rounds  10 rounds  12 rounds",
        "waiting   system:10%   > 900 %       +26%       +20%",
    ]


def test_plain_data_keep_every_look() -> None:
    data = json.loads(json.dumps(calibration.plain(FOUND)))
    assert (data["comparisons"], data["false_alarms"]) == (40, 1)
    assert data["interval"] == [0.0006, 0.132]
    (change,) = data["changes"]
    assert (change["place"], change["criterion"]) == ("waiting", "system:10%")
    assert change["spread"] == 0.05
    assert change["by_rounds"] == {"3": 11.0, "5": 10.0, "8": 3.0, "10": 1.26, "12": 1.2}
