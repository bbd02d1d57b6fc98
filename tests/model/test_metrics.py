"""The table of metrics."""

from waitbench.model.metrics import BY_NAME, METRICS, UNTIL_EXIT, WAITING


def test_no_two_metrics_have_the_same_key() -> None:
    assert len({metric.key for metric in BY_NAME.values()}) == len(BY_NAME)
    every = {*METRICS, *WAITING, *UNTIL_EXIT}
    assert len({metric.name for metric in every}) == len(every)
