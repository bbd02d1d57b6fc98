"""The phases of a worker file: what each is a scenario of, and what is said of wrong ones."""

from pathlib import Path

import pytest

from tests.engines.worker.reading import read
from waitbench.engines import selection
from waitbench.engines.worker import worker_config
from waitbench.engines.worker.metrics import LATENESS
from waitbench.engines.worker.scenarios import WorkerScenario, scenarios_of
from waitbench.model.errors import UsageError

SHORTEST = "command = '{revision}'\n"
TABLES = "[services.a]\ncommand = 'x'\n[services.b]\ncommand = 'x'\n[poke]\ncommand = 'true'\n"
WORK = "[[phase]]\nname = 'work'\npoke = true\n"
GONE = "[[phase]]\nname = 'gone'\nstop = 'a'\nseconds = 4\n"
BACK = "[[phase]]\nname = 'back'\nstart = 'a'\n"
CLOSED = "[[phase]]\nname = 'closed'\nclose = 'stdin'\n"
RESET = "[[phase]]\nname = 'reset'\nreset = ''\n"
CLEAN = "[[phase]]\nname = 'clean'\nrun = 'rm {folder}/x'\n"


def scenarios(folder: Path, text: str) -> dict[str, WorkerScenario]:
    return {it.name: it for it in scenarios_of(read(folder, text))}


@pytest.mark.parametrize(
    ("of_file", "expected"), [("", [10.0, 3.0, 10.0]), ("window = 5\n", [5.0, 3.0, 5.0])]
)
def test_a_phase_may_have_a_window_of_its_own(
    of_file: str, expected: list[float], tmp_path: Path
) -> None:
    phases = WORK.rstrip() + "\nwindow = 3\n" + GONE
    by_name = scenarios(tmp_path, SHORTEST + of_file + phases + TABLES)
    assert [it.window_s for it in by_name.values()] == expected


def test_each_phase_is_a_scenario_beside_idle_whose_runs_go_through_all_before_it(
    tmp_path: Path,
) -> None:
    by_name = scenarios(tmp_path, SHORTEST + WORK + GONE + BACK + CLEAN + TABLES)
    names = ["mine", "mine-work", "mine-gone", "mine-back", "mine-clean"]
    assert [*by_name] == names
    for number, name in enumerate(names):
        for scenario in (by_name[name], by_name[name].shortened()):
            assert isinstance(scenario, WorkerScenario)
            config = worker_config(scenario.worker, scenario.parameters, Path())
            assert [action.phase for action in config.actions] == ["work", "gone", "back", "clean"][
                :number
            ]
    times = [(it.expected_s, it.time_limit_s) for it in by_name.values()]
    assert times == sorted(times)
    assert len(set(times)) == len(names)
    slow = TABLES.replace("[services.b]", "ready = { seconds = 900 }\n[services.b]")
    back = scenarios(tmp_path, SHORTEST + WORK + GONE + BACK + slow)["mine-back"]
    # Once before the run, and once within it.
    assert (back.expected_s > 900, back.time_limit_s > 1800) == (True, True)
    chosen = selection.select(("gone", "mine"), (), worker=by_name["mine"].worker)
    assert [it.name for it in chosen] == ["mine", "mine-gone"]


def test_a_worker_is_late_only_where_all_its_services_run(tmp_path: Path) -> None:
    by_name = scenarios(tmp_path, SHORTEST + WORK + GONE + BACK + TABLES)
    late = {
        name: "latency-p50" in {metric.name for metric in it.metrics}
        for name, it in by_name.items()
    }
    assert late == {"mine": True, "mine-work": True, "mine-gone": False, "mine-back": True}
    assert [name for name, it in by_name.items() if LATENESS & it.lacks.keys()] == ["mine-gone"]


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (WORK + WORK, "phase.work: its name is used twice"),
        (GONE.replace("'a'", "'c'"), "phase.gone.stop: no service 'c' runs then"),
        (GONE + GONE.replace("gone", "again"), "phase.again.stop: no service 'a' runs then"),
        (BACK, "phase.back.start: no phase before it has stopped a service 'a'"),
        (GONE + BACK + BACK.replace("back", "x"), "phase.x.start: no phase before it has stopped"),
        (GONE + BACK.replace("'a'", "'b'"), "phase.back.start: no phase before it has stopped"),
        (WORK + "stop = 'a'\n", "phase[0]: a phase needs exactly one of poke, stop, start, run"),
        (CLOSED, 'phase.closed.close: the file has no stdin = "open"'),
        (
            f"stdin = 'open'\n{CLOSED}{CLOSED.replace('closed', 'x')}",
            "phase.x.close: a phase before it has closed it",
        ),
        (
            "stdin = 'open'\n" + CLOSED + "must_end = true\n" + CLEAN,
            "phase.clean: the worker must end in the phase before it, closed",
        ),
        (RESET, "phase.reset.reset: the command needs {port}: the client connects to it"),
        (
            f"{RESET}[services.c]\ncommand = 'x {{port}}'\n",
            "phase.reset.reset: the command needs {port}: the client connects to it",
        ),
        ("[[phase]]\nname = 'x'\n", "needs exactly one of poke, stop, start, run"),
        (CLEAN.replace("{folder}", "{a.folde}"), "phase.clean.run: nothing fills {a.folde}"),
        (WORK + "[scenarios.x]\n", "phase: does not go with [scenarios.NAME]"),
        ("window = 'until-exit'\n" + CLEAN, "phase: does not go with [scenarios.NAME], or with"),
        (
            "settled = { log = 'x' }\n" + WORK,
            "phase.work.seconds: is needed, as settled.log happens",
        ),
        ("parameters = { phase = 1 }\n" + WORK, "parameters.phase: is a placeholder already"),
    ],
)
def test_what_is_wrong_with_a_phase_is_one_sentence(
    phases: str, expected: str, tmp_path: Path
) -> None:
    tables = "" if "until-exit" in phases else TABLES
    with pytest.raises(UsageError) as raised:
        read(tmp_path, SHORTEST + phases + tables)
    assert expected in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_worker_that_must_end_has_no_figures_of_the_living_and_a_fixed_window(
    tmp_path: Path,
) -> None:
    text = f"stdin = 'open'\n{SHORTEST}{CLOSED}must_end = true\n{TABLES}"
    ends, idle = scenarios(tmp_path, text)["mine-closed"], scenarios(tmp_path, text)["mine"]
    gone = {it.name for it in idle.metrics} - {it.name for it in ends.metrics}
    assert gone == {"latency", "latency-p50", "latency-max", "memory", "memory-growth", "restarts"}
    assert ends.for_warm_up() == ends.with_least_window(99.0) == ends


def test_a_phase_needs_a_poke_to_poke(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"phase\.work\.poke: the file has no table \[poke\]"):
        read(tmp_path, SHORTEST + WORK)
