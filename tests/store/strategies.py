"""Strategies for records, with labels and numbers as odd as they may be."""

from hypothesis import strategies as st

from waitbench.model.environment import Facts
from waitbench.model.metrics import METRICS, Metric
from waitbench.model.record import Context, Record, RevisionRecord
from waitbench.model.run import Measurement, Outcome

# Not the character 0, which the csv module of Python 3.10 cannot read.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
# Not a carriage return, which Python's csv module does not quote.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")
labels = st.text(characters, min_size=1)
numbers = st.floats(0, 1e9) | st.integers(0, 10**15)
times = {"time_wall_clock": numbers, "time_user": numbers, "time_system": numbers}
# Whole numbers below a billion stand in CSV as they are.
samples = st.dictionaries(
    st.text("abcdefgh_", min_size=1), st.integers(0, 10**9 - 1).map(float), min_size=1
)
machines = st.dictionaries(texts, st.none() | texts | st.integers(), max_size=2)

OWN_METRIC = Metric("own", "own_metric", "byte", "a worker's own")

contestants = st.builds(
    RevisionRecord,
    label=labels,
    engine=...,
    commit=...,
    commit_date=...,
    facts=st.none() | st.builds(Facts),
)
contexts = st.builds(
    Context,
    revisions=st.lists(contestants, min_size=1, max_size=3, unique_by=lambda r: r.label).map(tuple),
    machine=machines,
    waitbench=...,
)
outcomes = st.builds(
    Outcome,
    label=labels,
    round=st.integers(0, 3),
    position=st.integers(0, 3),
    started_at=texts,
    reason=texts,
    message=texts,
    log=texts,
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A record whose measurements stand as its file has them: by revision, then by round."""
    context = draw(contexts)
    record = Record(
        scenario="waiting",
        parameters=draw(st.dictionaries(texts, texts | st.booleans() | numbers, max_size=2)),
        context=context,
        waits=draw(st.booleans()),
        metrics=(*METRICS, OWN_METRIC),
        machine=draw(st.none() | machines),
    )
    for position, label in enumerate(context.labels):
        for number in range(1, draw(st.integers(0, 2)) + 1):
            measured = st.builds(
                Measurement,
                label=st.just(label),
                round=st.just(number),
                position=st.just(position),
                started_at=texts,
                metrics=st.fixed_dictionaries(times, optional={OWN_METRIC.key: numbers}),
                marks=st.lists(texts, max_size=2).map(tuple),
                samples=st.lists(samples, max_size=2).map(tuple),
            )
            record.add(draw(measured))
    for one in draw(st.lists(outcomes, max_size=2, unique_by=lambda one: one.round)):
        record.add(one)
    return record
