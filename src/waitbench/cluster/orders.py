"""Orders: what a unit is told to do, as plain data. Another machine makes the same request of it.

Nothing is looked up again there: revisions come with their commits, and what was built comes as a
wheel. What is a machine's own, such as where its interpreters are, stands in no order.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from waitbench import engines
from waitbench.engines import worker_file
from waitbench.engines.base import Engine
from waitbench.engines.command import Command
from waitbench.environments import interpreters
from waitbench.environments.index import index_of
from waitbench.families import ALL
from waitbench.families.worker.scenarios import scenario_of
from waitbench.model.environment import EnvironmentSpec, Interpreter, Origin
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.metrics import Instruments
from waitbench.model.revision import Checkout, Commit, Release, Revision, Source, WheelFile
from waitbench.model.scenario import Topology
from waitbench.model.share import Share
from waitbench.model.worker import WorkerFile
from waitbench.pipeline.extras import Extras
from waitbench.pipeline.gating import Gate
from waitbench.pipeline.measuring import Measuring
from waitbench.pipeline.preparation import maker, say_error
from waitbench.pipeline.request import ValidRequest
from waitbench.reporting.progress import PreparationLog
from waitbench.system import installation
from waitbench.system.instruments import find_instruments
from waitbench.system.places import Cache

_SOURCES: Mapping[str, type[Release | Commit]] = {"release": Release, "commit": Commit}


@dataclass(frozen=True, kw_only=True)
class SentWheel:
    """A wheel that an index does not have."""

    name: str
    """Of its file, which says what it fits."""
    sha256: str
    compiler: str | None
    """What compiled it, where it was built for this comparison."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """One unit: what is to be measured, and how much of it."""

    request: ValidRequest
    measuring: Measuring
    budget_s: float
    """What the gate may spend on this unit; the settings have that of the whole comparison."""
    passed_variables: tuple[str, ...]

    def encode(self, wheels: Mapping[str, SentWheel]) -> str:
        """The order in one line; ``wheels`` are those that are sent, by label."""
        request, measuring = self.request, self.measuring
        plain = {
            "waitbench": installation.version(),
            "worker": request.worker and dict(request.worker.texts),
            "scenarios": {one.name: dict(one.parameters) for one in request.scenarios},
            "here": list(request.share.scenarios),
            "topology": asdict(request.topology),
            "specs": [_plain_spec(one, wheels.get(one.revision.label)) for one in request.specs],
            "time_limit_s": request.time_limit_s,
            "setup_limit_s": request.setup_limit_s,
            "instruments": sorted(request.instruments.keys),
            "argv": list(request.argv),
            "gate": measuring.gate.as_settings() if measuring.gate.is_on else None,
            "rounds": measuring.rounds,
            "sharing": measuring.sharing,
            "budget_s": self.budget_s,
            "extras": asdict(measuring.extras),
            "passed_variables": list(self.passed_variables),
        }
        return json.dumps(plain)

    @classmethod
    def decode(cls, line: str, wheels: Path, cache: Cache) -> "Order":
        """The order that a line holds, for this machine; sent wheels are in a folder, by digest.

        Raises ``UsageError`` where this machine cannot do it.
        """
        plain = json.loads(line)
        if plain["waitbench"] != installation.version():
            # The worker said what it was when it was started; units start what is there now.
            raise UsageError(
                f"The sources of waitbench are {installation.version()} here by now, and not "
                f"{plain['waitbench']}: start the node again."
            )
        known = {one.name: one for one in ALL}
        if plain["worker"] is not None:
            worker = _read_worker(plain["worker"], wheels)
            engines.assume(Command(worker))
            known[worker.name] = scenario_of(worker, quick=False)
        specs = tuple(_read_spec(one, wheels, cache) for one in plain["specs"])
        names = dict.fromkeys(spec.revision.engine for spec in specs)
        gate = Gate.read_settings({"gate": plain["gate"]})
        if plain["gate"] is not None:
            gate = replace(
                gate,
                budget_s=plain["gate"]["budget_s"],
                fail_fast=plain["gate"]["fail_fast"],
                full=plain["gate"]["full"],
            )
        request = ValidRequest(
            engines=tuple(engines.named(name) for name in names),
            scenarios=tuple(
                replace(known[name], parameters=dict(parameters))
                for name, parameters in plain["scenarios"].items()
            ),
            share=Share(scenarios=tuple(plain["here"]), of=tuple(plain["scenarios"])),
            topology=Topology(**plain["topology"]),
            repositories={},
            specs=specs,
            cache=cache,
            time_limit_s=plain["time_limit_s"],
            instruments=_instruments(plain["instruments"]),
            toolchain=None,
            setup_limit_s=plain["setup_limit_s"],
            python=None,
            argv=tuple(plain["argv"]),
        )
        extras = Extras(**plain["extras"])
        extras.validate()
        return cls(
            request=request,
            measuring=Measuring(
                gate=gate, rounds=plain["rounds"], extras=extras, sharing=plain["sharing"]
            ),
            budget_s=plain["budget_s"],
            passed_variables=tuple(plain["passed_variables"]),
        )


def _read_worker(plain: Mapping[str, str], wheels: Path) -> WorkerFile:
    folder = wheels.with_name("worker")
    folder.mkdir(exist_ok=True)
    for name, content in plain.items():
        (folder / name).write_text(content, "utf-8")
    return worker_file.read(folder / next(iter(plain)))


def _require_portable(worker: WorkerFile) -> None:
    """Raises ``UsageError`` for a worker that has something on this machine only."""
    if worker.package is None:
        raise UsageError(
            f"--on: {worker.path.name} has no package, and its programs are on this machine only. "
            "Measure it here."
        )
    wanted = worker_file.files_here(worker) | {one.name for one in worker.files}
    lacking = sorted(wanted - worker.texts.keys())
    if lacking:
        raise UsageError(
            f"--on: {worker.path.name} needs {', '.join(lacking)} beside it. Only text files that "
            "are in its files go to other machines."
        )


def _instruments(wanted: Sequence[str]) -> Instruments:
    """Those of this machine that are wanted, and no more: all machines measure the same."""
    if not wanted:
        return Instruments()
    found = find_instruments()
    counts = Instruments(tracepoint=found.tracepoint)
    samples = Instruments(sampler=found.sampler)
    used = Instruments(
        tracepoint=found.tracepoint if counts.keys & set(wanted) else None,
        sampler=bool(samples.keys & set(wanted)),
    )
    lacking = sorted(set(wanted) - used.keys)
    if lacking:
        raise UsageError(
            f"This machine cannot measure {', '.join(lacking)}, as the others can; "
            f"{installation.called('doctor')} tells what would mend it."
        )
    return used


def _plain_spec(spec: EnvironmentSpec, wheel: SentWheel | None) -> dict[str, Any]:
    revision = spec.revision
    return {
        "label": revision.label,
        "text": revision.text,
        "engine": revision.engine,
        "source": _plain_source(revision.source),
        "beside": list(revision.beside),
        "settings": dict(revision.settings),
        "origin": spec.origin.value,
        "python": spec.python.version,
        "commit": spec.commit,
        "commit_date": spec.commit_date,
        "sources_sha256": spec.sources_sha256,
        "unbuilt": spec.unbuilt,
        "wheel": None if wheel is None else asdict(wheel),
    }


def _read_spec(plain: Mapping[str, Any], wheels: Path, cache: Cache) -> EnvironmentSpec:
    revision = Revision(
        label=plain["label"],
        text=plain["text"],
        engine=plain["engine"],
        source=_read_source(plain["source"]),
        beside=tuple(plain["beside"]),
        settings=plain["settings"],
    )
    python = interpreters.find(plain["python"], cache)
    sent = None if plain["wheel"] is None else SentWheel(**plain["wheel"])
    return EnvironmentSpec(
        revision=revision,
        origin=Origin(plain["origin"]),
        python=python,
        commit=plain["commit"],
        commit_date=plain["commit_date"],
        wheel=_from_index(revision, python, cache) if sent is None else _unpacked(sent, wheels),
        compiler=None if sent is None else sent.compiler,
        sources_sha256=plain["sources_sha256"],
        unbuilt=plain["unbuilt"],
    )


def _unpacked(sent: SentWheel, wheels: Path) -> Path:
    """A sent wheel under its own name, by which pip knows what it is."""
    folder = wheels / f"{sent.sha256}.d"
    folder.mkdir(exist_ok=True)
    wheel = folder / sent.name
    if not wheel.exists():
        wheel.hardlink_to(wheels / sent.sha256)
    return wheel


def _from_index(revision: Revision, python: Interpreter, cache: Cache) -> Path | None:
    """The wheel of a release, as this machine's index has it."""
    engine = engines.named(revision.engine)
    if not isinstance(revision.source, Release) or engine.missing_prerequisite() is not None:
        return None
    return index_of(engine, cache).wheel(revision.source.version, python)


def _plain_source(source: Source) -> dict[str, Any]:
    if isinstance(source, Release):
        return {"kind": "release", "version": source.version}
    if isinstance(source, Commit):
        return {"kind": "commit", "commit": source.commit}
    if isinstance(source, WheelFile):
        return {"kind": "file", "path": source.path.name, "sha256": source.sha256}
    assert isinstance(source, Checkout), "a program stays on its machine"
    return {"kind": "checkout", "folder": source.folder.name, "fingerprint": source.fingerprint,
            "commit": source.commit}  # fmt: skip


def _read_source(plain: Mapping[str, Any]) -> Source:
    if plain["kind"] == "file":
        return WheelFile(Path(plain["path"]), plain["sha256"])
    if plain["kind"] == "checkout":
        return Checkout(folder=Path(plain["folder"]), fingerprint=plain["fingerprint"],
                        commit=plain["commit"], files=())  # fmt: skip
    (identity,) = (value for key, value in plain.items() if key != "kind")
    return _SOURCES[plain["kind"]](identity)


@dataclass(frozen=True)
class Wheels:
    """What an index does not have of the revisions."""

    by_label: Mapping[str, SentWheel]
    contents: Mapping[str, bytes]
    """By digest."""


def build(
    request: ValidRequest, progress: Console, say: PreparationLog
) -> tuple[ValidRequest, Wheels]:
    """The request, which says of what could not be built why, and the wheels of the others.

    Raises ``HarnessError`` where nothing can be built.
    """
    if request.worker is not None:
        _require_portable(request.worker)
    with say:
        specs = [spec for engine in request.engines for spec in _built(request, engine, say)]
    by_label, contents = {}, {}
    for spec in specs:
        if spec.unbuilt is not None:
            say_error(progress, spec.revision.label, spec.unbuilt)
        elif spec.wheel is not None and (spec.origin.is_built_here or spec.origin is Origin.FILE):
            content = spec.wheel.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            contents[digest] = content
            by_label[spec.revision.label] = SentWheel(
                name=spec.wheel.name, sha256=digest, compiler=spec.compiler
            )
    in_order = sorted(specs, key=lambda spec: request.labels.index(spec.revision.label))
    return replace(request, specs=tuple(in_order)), Wheels(by_label, contents)


def _built(request: ValidRequest, engine: Engine, say: PreparationLog) -> Sequence[EnvironmentSpec]:
    specs = request.specs_of(engine)
    try:
        return maker(request, engine, say).build_wheels(specs)
    except HarnessError as error:
        if len(request.engines) == 1:
            raise
        return [replace(spec, unbuilt=str(error)) for spec in specs]


def unit_of(request: ValidRequest, scenario: str) -> ValidRequest:
    """The request of one scenario's unit."""
    return replace(request, share=replace(request.share, scenarios=(scenario,)))
