"""What a comparison ran on."""

import re
from pathlib import Path

import pytest

from waitbench.system import machine


def test_a_fingerprint_tells_machines_apart_and_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secret = {"/etc/machine-id": "0123456789abcdef", "/proc/cpuinfo": "model name : One CPU"}
    monkeypatch.setattr(machine, "_read", lambda path: secret.get(str(path)))
    ours = machine.fingerprint()
    assert re.fullmatch(r"[0-9a-f]{12}", ours)
    assert machine.fingerprint() == ours
    assert ours not in secret["/etc/machine-id"]
    secret["/etc/machine-id"] = "another"
    theirs = machine.fingerprint()
    secret["/proc/cpuinfo"] = "model name : Another CPU"
    assert len({ours, theirs, machine.fingerprint()}) == 3


@pytest.mark.parametrize(
    ("config", "accounting"),
    [
        ("CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_HZ=250\n", "tick 250 Hz"),
        ("CONFIG_TICK_CPU_ACCOUNTING=y\n", "tick"),
        ("CONFIG_VIRT_CPU_ACCOUNTING_GEN=y\nCONFIG_HZ=250\n", "exact"),
        ("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", "exact"),
        ("# nothing of it\n", None),
    ],
)
def test_the_kernels_accounting_is_read_from_its_configuration(
    config: str, accounting: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compressed_one(_path: Path) -> bytes:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", no_compressed_one)
    monkeypatch.setattr(machine, "_read", lambda _path: config)
    assert machine.describe()["cpu_accounting"] == accounting
