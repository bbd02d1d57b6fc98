"""What a dataflow of yours may say to waitbench: when it begins to wait, and when it is done.

    import waitbench_probe

Without waitbench nothing is written; but the module is only there in its runs, so guard the import
where the dataflow runs elsewhere, too.
"""

from support.probe import end_of_input, first_poll

__all__ = ["end_of_input", "first_poll"]
