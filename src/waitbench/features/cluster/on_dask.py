"""``--on``: a comparison in which each scenario is a shard, and each shard is a task of dask.

This machine validates, builds, judges and reports. A dask worker runs ``compare --shard I/N``, and
sends its results back when it has finished.
"""

import json
import logging
import re
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import distributed
from msgspec import structs

from waitbench.environments import origins, revisions
from waitbench.environments.virtualenvs import EnvironmentBuilder
from waitbench.features.cluster import merge, shards
from waitbench.features.cluster.on_worker import START, Task, identity, require_same, run_shard
from waitbench.model.errors import HarnessError, UsageError
from waitbench.model.record import Shard
from waitbench.model.revision import EnvironmentSpec, Origin
from waitbench.model.worker import WorkerFile
from waitbench.pipeline import comparing
from waitbench.pipeline.preparation import interruption_message
from waitbench.pipeline.request import Request, ValidRequest
from waitbench.reporting.output import Log, Output
from waitbench.store import folders
from waitbench.store.comparisons import StoredComparison
from waitbench.system import files

SHARDS = ".shards"
"""The subfolder in which finished shards wait until all can be merged."""


@contextmanager
def run(
    address: str,
    options: Sequence[str],
    accepted: str | None,
    request: Request,
    output: Output,
) -> Iterator[StoredComparison]:
    """Measures a request on a scheduler's workers, like ``comparing.run`` on this machine.

    The address is ``tcp://HOST:PORT`` or ``tls://HOST:PORT``. Raises ``HarnessError``.
    """
    if conflict := request.survey_option or ("--shard" if "--shard" in options else None):
        raise UsageError(f"--on does not go with {conflict}.")
    # For an invalid address, dask would leave a broken client.
    if not re.fullmatch(r"(tcp|tls)://(\[[\da-fA-F:.]+\]|[^\s/:@\[\]]+):\d{1,5}", address):
        raise UsageError(f"--on {address!r} is not tcp://HOST:PORT or tls://HOST:PORT.")
    required = identity()

    def measure(valid: ValidRequest, folder: Path, output: Output) -> StoredComparison:
        specs, arguments, sent = _command(valid, options, accepted, output.log)
        for line in _measure(client, valid, (arguments, sent, required), folder / SHARDS):
            if not output.quiet:
                output.progress.print(line)
        return _merge(valid, specs, folder)

    def has_begun(folder: Path) -> bool:
        return (folder / SHARDS).is_dir()

    with (
        _connected(address, required) as client,
        comparing.run(request, output, measure=measure, resumable=has_begun) as contents,
    ):
        yield contents


def _command(
    valid: ValidRequest, typed: Sequence[str], accepted: str | None, say: Log
) -> tuple[Sequence[EnvironmentSpec], Sequence[str], Mapping[str, bytes]]:
    """Returns specs, the arguments for each shard, and by name the files that they mention.

    Wheels that no package index has are built here, so that all shards have the same build.
    """
    options, sent = [*typed, "--no-plot"], dict[str, bytes]()
    if valid.request.worker is not None:
        sent = _files_of(valid.request.worker)
        options += ["--worker", next(iter(sent))]
    if accepted is not None:
        sent["accepted.toml"] = files.read(Path(accepted), named=True)
        options += ["--accepted", "accepted.toml"]
    builder = EnvironmentBuilder(engine=valid.engine, cache=valid.cache, say=say)
    specs = builder.build_wheels(valid.specs)
    texts = []
    for spec in specs:
        path = None
        if spec.wheel is not None and spec.origin is not Origin.WHEEL:
            path = f"{files.sha256(spec.wheel)[:16]}/{spec.wheel.name}"
            sent[path] = spec.wheel.read_bytes()
        texts.append(revisions.argument_of(spec, path))
    if len({spec.origin is Origin.WHEEL for spec in specs}) > 1:
        options += ["--origin", "mixed"]
    return specs, (*texts, *options, "--python", specs[0].python.version), sent


def _files_of(worker: WorkerFile) -> dict[str, bytes]:
    """A worker file and the files that it names, by name. Raises ``UsageError``."""
    if worker.package is None or not worker.texts.keys() >= {*worker.files}:
        raise UsageError(
            f"--on: {worker.path.name} needs a program or a file that only this machine has. Name "
            "text files of at most 1 MiB in its 'files', or measure it here."
        )
    return {name: text.encode() for name, text in worker.texts.items()}


def _measure(
    client: distributed.Client, valid: ValidRequest, task: Task, folder: Path
) -> Iterator[str]:
    """Measures the shards that the folder lacks; yields a line for each finished shard."""
    arguments, sent, required = task
    command, path = json.dumps([*required.values(), *arguments]), folder / "command.json"
    folders.make_subfolder(folder)
    if files.is_there(path) and files.read(path) != command.encode():
        raise UsageError(
            f"{str(folder.parent)!r} was started by another command, or another waitbench. "
            "Repeat the command as it was, or name another folder with --results."
        )
    files.write_text(path, command)
    expected_s = {scenario.name: scenario.expected_s for scenario in valid.scenarios}
    number, resume_hint = len(expected_s), interruption_message(folder.parent)
    shards_of: dict[distributed.Future[Any], Shard] = {}
    # Shard 1 has the longest scenario, so it starts first.
    for index in range(1, number + 1):
        if not (folder / str(index)).exists():
            key = f"shard-{index}-{uuid.uuid4().hex}"
            shard_arguments = (*arguments, "--shard", f"{index}/{number}")
            future = client.submit(run_shard, shard_arguments, sent, required, key=key, pure=False)
            shards_of[future] = shards.deal(index, number, expected_s)
    for future in distributed.as_completed(shards_of, loop=client.loop):
        shard = shards_of[future]
        names = ", ".join(shard.scenarios)
        with _explained(f"{names}: the shard is lost", resume_hint):
            worker, last_words, packed = future.result()
        try:
            unpack(packed, folder / str(shard.index))
        except UsageError as error:
            raise HarnessError(
                f"{names}, on {worker}: {last_words or error}\n{resume_hint}"
            ) from error
        yield f"{names}: measured on {worker}"


def unpack(content: Mapping[str, bytes], folder: Path) -> None:
    """Writes the files of a shard into a folder. Raises ``UsageError`` if files are missing."""
    partial = folder.with_name(f"{folder.name}.part")
    files.remove(partial)
    partial.mkdir()
    for name, data in content.items():
        (partial / Path(name).name).write_bytes(data)
    merge.read_finished(partial)
    partial.rename(folder)


def _merge(valid: ValidRequest, specs: Sequence[EnvironmentSpec], folder: Path) -> StoredComparison:
    measured = [*(folder / SHARDS).glob("*[0-9]")]
    whole, records = merge.merged([merge.read_finished(path) for path in measured])
    # Shards got wheels as files, so they know neither the compilers nor the origins.
    facts = [
        it.build and structs.replace(it.build, compiler=spec.compiler or it.build.compiler)
        for it, spec in zip(whole.revisions, specs, strict=True)
    ]
    whole = structs.replace(
        whole,
        argv=valid.request.argv,
        mixed_origins=origins.is_mixed(specs),
        revisions=tuple(spec.recorded(it) for spec, it in zip(specs, facts, strict=True)),
    )
    records = [structs.replace(record, context=whole) for record in records]
    contents = merge.write(folder, whole, records, measured)
    files.remove(folder / SHARDS)
    return contents


@contextmanager
def _connected(address: str, required: Mapping[str, str]) -> Iterator[distributed.Client]:
    """Connects to a scheduler.

    Raises ``HarnessError`` if no scheduler or worker answers, ``UsageError`` for an unfit worker.
    """
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", "Sending large graph")  # wheels may be large
    with _explained(f"No scheduler answers at {address}"):
        client = distributed.Client(address, timeout=10, set_as_default=False)
    with closing(client):
        with _explained("A worker lacks waitbench, or is lost"):
            workers = client.run(require_same, required)
        if not workers:
            raise HarnessError(f"The scheduler has no worker. Start one on each machine: {START}")
        yield client


@contextmanager
def _explained(problem: str, remedy: str = "") -> Iterator[None]:
    """Turns errors of dask into a ``HarnessError`` that names the problem and the remedy."""
    try:
        yield
    except HarnessError:
        raise
    except (CancelledError, Exception) as error:
        why = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise HarnessError(f"{problem}: {why}. {remedy}".rstrip()) from error
