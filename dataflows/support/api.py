"""What a workload is written against, whatever the engine that carries it.

A workload is made of four small things of ours. A *reader* has ``next_item()``, which returns one
item, ``None`` for "nothing yet", or raises ``StopIteration`` at the end of its input; it may have
``next_awake()``, which returns an aware ``datetime`` or ``None``, for engines that ask when to come
again, and has ``wait_ns``, the time until there is anything to say, for those that wait by
themselves. A *writer* has ``write(item)``. A *step* is a function of one item. A *hold* is a
stateful step that keeps items, or a timer, by key: see holding.py.

An engine *carries* a workload by a module of these names:

``partitioned_source(parts, build_reader)``
    A source of fixed partitions; ``build_reader(part)`` is called once for each, where it is read.
``dynamic_source(build_reader)``
    A source that every worker reads; ``build_reader(worker_index, worker_count)`` is called once on
    each.
``sink(build_writer)``
    A sink with one writer a worker.
``build_dataflow(name, source, steps, output, hold=None)``
    A straight dataflow: a source, a hold if there is one, each ``(name, function)`` of ``steps``,
    and an output.
``kafka_source(topic)``
    A source of a broker's topic, by what the engine itself has for that; see topic.py. Carriers of
    engines that have nothing (capability ``KAFKA``) do not have it.

The harness puts the module ``carrier`` of the engine under test on the path. Without one, as when a
dataflow is run by hand, it is bytewax that carries it.
"""

from typing import Any

try:
    from carrier import build_dataflow, dynamic_source, partitioned_source, sink
except ModuleNotFoundError as error:
    if error.name != "carrier":
        raise
    from .bytewax_api import build_dataflow, dynamic_source, partitioned_source, sink

__all__ = ["build_dataflow", "dynamic_source", "kafka_source", "partitioned_source", "sink"]


def kafka_source(topic: Any) -> Any:
    """A source of a ``topic.Topic``, of the engine's own."""
    # Here: most workloads have no client library to import.
    try:
        import carrier
    except ModuleNotFoundError:
        from . import bytewax_kafka

        return bytewax_kafka.kafka_source(topic)
    return carrier.kafka_source(topic)
