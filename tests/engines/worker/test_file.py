"""Worker files: what is read of them, and what is said of those that are wrong."""

from pathlib import Path

import pytest

from tests.engines.worker.reading import read
from waitbench.engines.worker import file as worker_file
from waitbench.model.errors import UsageError

SHORTEST = 'command = "{revision} --wait"\n'
SERVICE = f"{SHORTEST}[services.a]\ncommand = 'x'\n"
SIZED = f"{SHORTEST}parameters = {{ size = 3 }}\n"
BUILT = "command = 'x'\n[build]\ncommand = 'make {prefix} {revision}'\n"
FROM_SOURCE = BUILT.replace("{revision}", "{source}")
UNTIL_EXIT = f"{SHORTEST}window = 'until-exit'\n"


@pytest.mark.parametrize(
    ("text", "ready_s", "window_s"),
    [(SHORTEST, 1.0, None), (UNTIL_EXIT, 0.0, "until-exit")],
)
def test_a_program_needs_no_more_than_its_command(
    text: str, ready_s: float, window_s: str | None, tmp_path: Path
) -> None:
    worker = read(tmp_path, text)
    assert (worker.name, worker.package, worker.command) == ("mine", None, ("{revision}", "--wait"))
    assert worker.ready.seconds == worker.settled.seconds == ready_s
    assert (worker.ends_by_itself, worker.stop) == (window_s is not None, "TERM")
    assert worker.window_s == window_s


@pytest.mark.parametrize("text", [BUILT, FROM_SOURCE])
def test_texts_of_a_built_worker_may_name_its_folder_and_its_revision(
    text: str, tmp_path: Path
) -> None:
    more = "{prefix}/x {revision} {python}"
    worker = read(tmp_path, text.replace("'x'", f"'{more}'\nservices.a.command = '{{prefix}}'"))
    assert worker.command == tuple(more.split())
    assert worker.build is not None
    assert worker.build.takes_source is (text == FROM_SOURCE)


def test_a_changed_file_beside_it_is_another_worker(tmp_path: Path) -> None:
    digests = set()
    for text in ("pass\n", "import time\n"):
        (tmp_path / "task.py").write_text(text)
        worker = read(tmp_path, f"{SHORTEST}files = ['task.py']\nstop = 'SIGINT'\n")
        digests.add(worker.sha256)
    assert (len(digests), worker.stop) == (2, "INT")


def test_a_large_text_beside_it_is_a_part_of_the_worker_but_not_of_its_results(
    tmp_path: Path,
) -> None:
    digests = set()
    for end in "ab":
        (tmp_path / "small.txt").write_text("x" * 2**20)
        (tmp_path / "large.txt").write_text("x" * 2**20 + end)
        worker = read(tmp_path, f"{SHORTEST}files = ['small.txt', 'large.txt']\n")
        digests.add(worker.sha256)
        assert worker.texts.keys() == {"mine.toml", "small.txt"}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "missing required field `command`."),
        ('command = "sleep 1"\n', "command: there is no package, so it needs {revision}"),
        (SHORTEST + 'comand = "x"\n', "there is no key 'comand' (did you mean 'command'?)."),
        (SHORTEST + '[[phases]]\nname = "x"\n', "no key 'phases' (did you mean 'phase'?)."),
        (
            SERVICE + "ready = { lgo = 'x' }\n",
            "services.NAME.ready: there is no key 'lgo'",
        ),
        (SHORTEST + "window = '5s'\n", "window: '5s' is neither a number of seconds nor \"until-"),
        (
            SHORTEST + "environment = { A = 'a', X = 1 }\n",
            "environment.NAME: Expected `str`, got `int`",
        ),
        (SHORTEST + "environment = { 'A=B' = 'a' }\n", "environment.NAME: Expected `str` match"),
        (SHORTEST + "environment = { '' = 'a' }\n", "environment.NAME: Expected `str` match"),
        (SHORTEST + 'environment = { A = "\\u0000" }\n', "environment.NAME: Expected `str` match"),
        (SHORTEST + "parameters = { a = 1e400 }\n", "parameters.NAME: Expected `float` <= 1"),
        (SHORTEST + f"parameters = {{ a = {'1' * 5001} }}\n", "is not TOML: Exceeds the limit"),
        (".".join("a" * 50_000) + " = 1\n", "is not TOML: it is nested too deeply"),
        ('command = "{revision} a\\u0000b"\n', "command: it has a NUL character"),
        ("command = ['', '{revision}']\n", "command: it names no program"),
        ('package = "x"\ncommand = "x"\nwith = ["rq==2.*"]\n', "'rq==2.*' is not pinned"),
        (SHORTEST + 'stop = "END"\n', "stop: 'END' is not a signal"),
        (SHORTEST + 'files = ["../x"]\n', "files: there is no file '../x' beside it"),
        (SHORTEST + 'with = ["redis==5.2.1"]\n', "with: is for a package, variants or a build"),
        (BUILT.replace("{prefix}", "x"), "build.command: it needs {prefix}, its folder, and {rev"),
        (f"package = 'rq'\n{BUILT}", "build: does not go with package: a revision is of one"),
        (f"repository = 'x'\n{BUILT}", "repository: build.command has no {source}, so revisions"),
        (f"{FROM_SOURCE}versions = 'x'\n", "build.versions: build.command has {source}, so rev"),
        (
            f"{BUILT}versions = 'x {{port}}'\n",
            "build.versions: nothing fills {port}. There are: {h",
        ),
        (f"{BUILT}ready = {{ port = true }}\n", "build: there is no key 'ready'"),
        ("environment = { A = '{source}' }\n" + BUILT, "environment.A: nothing fills {source}."),
        ("package = 'x y'\ncommand = 'x'\n", "package: 'x y' is not a package's name"),
        (SHORTEST + 'python = "3"\n', "python: '3' is not understood"),
        ('command = "{revision} {redis.port}"\n', "command: nothing fills {redis.port}"),
        ("command = [1]\n", "command: it is neither a text nor a list of texts"),
        (SHORTEST + "\nready = { log = '(' }\n", "log is not a regular expression"),
        (SHORTEST + "ready = { log = 5 }\n", "ready.log: Expected `str`, got `int`"),
        (SHORTEST + "ready = { log = 'x{9999999999}' }\n", "log is not a regular expression"),
        (SHORTEST + "ready = { }\n", "ready: it needs exactly one of log, port, "),
        (SHORTEST + "ready = { port = false }\n", "ready.port: "),
        (SHORTEST + "ready = { seconds = 3601 }\n", "ready: seconds is not a number from 0 to"),
        (SHORTEST + "ready = { seconds = nan }\n", "ready: seconds is not a number from 0 to"),
        (
            SHORTEST + "[poke]\ncommand = 'x'\ndone = { seconds = 1 }\n",
            "poke.done: there is no key 'seconds'",
        ),
        (SHORTEST + "[poke]\ncommand = '{python} x'\n", "poke.command: nothing fills {python}"),
        (SHORTEST + "[services.a]\ncommand = '{revision}'\n", "nothing fills {revision}"),
        (SERVICE + "ready = { exit = true }\n", "services.NAME.ready: there is no key 'exit'"),
        (SHORTEST + "[parameters]\nsilence = 1\n", "parameters.silence: is a placeholder already"),
        (
            SHORTEST + "[parameters]\na = '{port}'\n",
            "parameters.a: nothing fills {port}",
        ),
        (
            SHORTEST + "[scenarios.big]\nsize = 1\n",
            "scenarios.big.size: is not a key of [parameters]. There are: none",
        ),
        (SIZED + "[scenarios.big]\nsize = 'L'\n", "scenarios.big.size: 'L' is not of the type"),
        (
            SIZED.replace("3", "'S'") + "[scenarios.big]\nsize = '{port}'\n",
            "scenarios.big.size: nothing fills {port}",
        ),
        (
            SHORTEST + "variants = ['a']\npackage = 'x'\n",
            "variants: does not go with package: a revision is of one kind",
        ),
        ("command = 'x'\nvariants = ['a']\n", "it needs {revision}: the variant"),
        (UNTIL_EXIT + "settled = { seconds = 1 }\n", "settled: does not go with a window until"),
        ("gate_window = 1\n", "no key 'gate_window' (did you mean 'window'?)"),
        (UNTIL_EXIT + "[poke]\ncommand = 'true'\n", "poke: does not go with a window until exit"),
        (UNTIL_EXIT + "background = true\n", "background: does not go with a window until exit"),
        (SHORTEST + "[metrics.idle]\n", "metrics.idle: there is a metric idle already"),
        (SHORTEST + "[metrics.a]\n", "metrics: the command needs {metrics}"),
    ],
)
def test_what_is_wrong_is_said_with_its_table_and_key(
    text: str, expected: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.startswith("--worker ")
    assert expected in message


SIGNS = {
    **{f"{{revision}} {sign} x": sign for sign in ("|", "&&", ";", ">>", "<", "2>")},
    "cd x; {revision}": ";",
    "{revision} >log": ">log",
    "{revision}&": "&",
    "{revision} 2>&1": "2>&1",
    "{revision} &> log": "&>",
}


@pytest.mark.parametrize("command", SIGNS)
def test_what_only_a_shell_understands_is_refused(command: str, tmp_path: Path) -> None:
    for text, key in (
        (f"command = '{command}'\n", "command"),
        (f"{SHORTEST}ready = {{ command = '{command}' }}\n", "ready.command"),
        (f"{SHORTEST}[poke]\ncommand = '{command}'\n", "poke.command"),
        (f"{SHORTEST}[services.a]\ncommand = '{command}'\n", "services.NAME.command"),
        (f"{SERVICE}counters = '{command}'\n", "services.NAME.counters"),
    ):
        with pytest.raises(UsageError) as caught:
            read(tmp_path, text)
        assert f": {SIGNS[command]} needs a shell, such as" in str(caught.value)
        assert f": {key}: " in str(caught.value)
        assert '["sh", "-c", "…"]' in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        """'{revision} --sep "|" --by "a & b" --two=";" x'""",
        """'{revision} http://x/?a=1&b=2 --of={a>b} a|b'""",
        """'sh -c "{revision} > log 2>&1"'""",
        """["{revision}", "|", ">"]""",
        """'{revision} \\;'""",
    ],
)
def test_quoted_and_listed_signs_are_arguments(command: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"command = {command}\n").command


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (b"command = ", "mine.toml", "is not TOML"),
        (b"\xff", "mine.toml", "is not TOML"),
        (b"a = " + b"[" * 5000, "mine.toml", "is not TOML"),
        (SHORTEST.encode(), "Mine of old.toml", "Rename the file"),
    ],
)
def test_what_is_no_worker_file_is_refused(
    content: bytes, name: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        worker_file.read(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        worker_file.read(tmp_path / "nothing.toml")


def test_a_service_may_be_told_where_those_before_it_are(tmp_path: Path) -> None:
    second = SERVICE + "[services.b]\ncommand = 'x {a.port} {a.folder}'\n"
    assert read(tmp_path, second).services["b"].command == ("x", "{a.port}", "{a.folder}")
    with pytest.raises(UsageError, match=r"services.a.command: nothing fills \{b.port\}"):
        read(tmp_path, second.replace("command = 'x'", "command = 'x {b.port}'"))


def test_variants_are_what_workers_measures_unless_it_names_versions(tmp_path: Path) -> None:
    text = SHORTEST + "variants = ['blocking', 'nonblocking']\n"
    assert read(tmp_path, text).revisions == ("blocking", "nonblocking")
    assert read(tmp_path, text + "versions = ['blocking']\n").revisions == ("blocking",)


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(UsageError, match="cannot be read: it has more than 1 MiB"):
        worker_file.read(Path("/dev/zero"))
