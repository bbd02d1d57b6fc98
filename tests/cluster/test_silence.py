"""Who does not answer any more."""

from waitbench.cluster.on_dask import Change, Silence


def test_a_machine_whose_mark_stays_is_silent_once_and_answers_again_once() -> None:
    silence = Silence(patience_s=75)
    beats = {0: (1, 1), 30: (2, 2), 60: (3, 2), 90: (4, 2), 106: (4, 2), 120: (5, 2), 150: (6, 7)}
    told = {
        now_s: silence.look({"east": east, "west": west}, now_s)
        for now_s, (east, west) in beats.items()
    }
    assert {now_s: changes for now_s, changes in told.items() if changes} == {
        106: [Change(name="west", silent_s=76)],
        150: [Change(name="west", silent_s=0.0)],
    }


def test_who_is_gone_is_not_silent() -> None:
    silence = Silence(patience_s=75)
    silence.look({"east": 1, "west": 1}, 0)
    assert silence.look({"east": 2}, 100) == []
