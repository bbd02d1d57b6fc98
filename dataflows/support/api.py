"""What a workload is written against.

A workload is made of four small things of ours. A *reader* has ``next_item()``, which returns one
item, ``None`` for "nothing yet", or raises ``StopIteration`` at the end of its input; it may have
``next_awake()``, which returns an aware ``datetime`` or ``None``. A *writer* has ``write(item)``. A
*step* is a function of one item. A *hold* is a stateful step that keeps items, or a timer, by key:
see holding.py.
"""

from .bytewax_api import build_dataflow, dynamic_source, partitioned_source, sink

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]
