"""Measures the CPU of a command, the variable IDLE_COMMAND, by pyperf: pyperf_idle.py [OPTIONS]."""

import json
import os
import resource
import subprocess

import pyperf


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_command(loops: int) -> float:
    """CPU seconds of ``loops`` runs of the command, which ends by itself."""
    command, before = json.loads(os.environ["IDLE_COMMAND"]), cpu_of_children()
    for _ in range(loops):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return cpu_of_children() - before


if __name__ == "__main__":
    pyperf.Runner().bench_time_func("idle", cpu_of_command)
