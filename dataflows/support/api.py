"""Functions that build a dataflow in every generation of bytewax's API.

A dataflow consists of four kinds of objects. A *reader* has ``next_item()``, which returns an item,
or ``None`` if no item is due, and raises ``StopIteration`` at the end of its input. It may have
``next_awake()``, which returns the time at which the next item is due (an aware ``datetime``), or
``None``. A *writer* has ``write(item)``. A *step* is a function of one item. A *hold* describes a
stateful step: see holding.py.
"""

from .bytewax_api import build_dataflow, dynamic_source, partitioned_source, sink

__all__ = ["build_dataflow", "dynamic_source", "partitioned_source", "sink"]
