"""Worker files: what is read of them, and what is said of those that are wrong."""

import signal
from pathlib import Path

import pytest

from waitbench.engines import worker_file
from waitbench.model.errors import UsageError
from waitbench.model.worker import Condition, WorkerFile

SHORTEST = 'command = "{revision} --wait"\n'
SERVICE = f"{SHORTEST}[services.a]\ncommand = 'x'\n"
WHOLE = """
package = "some-package"
repository = "https://example.org/some.git"
versions = ["1.0", "2.0"]
with = ["redis==5.2.1"]
files = ["task.py"]
command = ["some", "worker", "{redis.port}", "{port}", "{not a placeholder}"]
environment = { NAME = "{folder}" }
ready = { log = "Listening", within = 5 }
settled = { command = "is-it --calm" }
window = 20
gate_window = 3
stop = "SIGINT"
stop_within = 4

[services.redis]
command = "redis-server --port {port}"
counters = "count {port}"
install = "apt-get install redis-server"

[poke]
command = "{python} task.py"
done = { log = "Job OK" }
"""


def read(tmp_path: Path, text: str, name: str = "mine.toml") -> WorkerFile:
    path = tmp_path / name
    path.write_text(text)
    return worker_file.read(path)


def test_a_program_needs_no_more_than_its_command(tmp_path: Path) -> None:
    found = read(tmp_path, SHORTEST)
    assert (found.name, found.package, found.command) == ("mine", None, ("{revision}", "--wait"))
    assert found.ready == found.settled == Condition(seconds=1.0)
    assert (found.window_s, found.gate_window_s, found.stop) == (10.0, 2.0, "TERM")


def test_all_that_a_file_may_say_is_read(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("pass\n")
    found = read(tmp_path, WHOLE)
    assert (found.package, found.module) == ("some-package", "")
    assert found.versions == ("1.0", "2.0")
    assert found.beside == ("redis==5.2.1",)
    assert found.files == (tmp_path / "task.py",)
    assert found.command[-1] == "{not a placeholder}"
    assert found.ready == Condition(log="Listening", within=5.0)
    assert found.settled.command == ("is-it", "--calm")
    assert (found.window_s, found.gate_window_s) == (20.0, 3.0)
    assert hasattr(signal, f"SIG{found.stop}")
    redis = found.services["redis"]
    assert redis.ready == Condition(port=True)
    assert redis.counters == ("count", "{port}")
    assert found.poke is not None
    assert found.poke.done == Condition(log="Job OK")


@pytest.mark.parametrize(
    ("text", "package", "extras"),
    [
        ("Werkzeug", "werkzeug", ()),
        ("some_Package", "some-package", ()),
        ("ruamel.yaml", "ruamel-yaml", ()),
        ("uvicorn[standard]", "uvicorn", ("standard",)),
        ("Celery[Redis, msgpack]", "celery", ("msgpack", "redis")),
    ],
)
def test_a_package_has_one_name_however_it_is_spelled(
    text: str, package: str, extras: tuple[str, ...], tmp_path: Path
) -> None:
    found = read(tmp_path, f"package = '{text}'\ncommand = 'x'\n")
    assert (found.package, found.extras) == (package, extras)


def test_a_changed_file_beside_it_is_another_worker(tmp_path: Path) -> None:
    digests = set()
    for text in ("pass\n", "import time\n"):
        (tmp_path / "task.py").write_text(text)
        digests.add(read(tmp_path, WHOLE).sha256)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", None, "command: is missing"),
        ('command = "sleep 1"\n', 1, "it needs {revision}"),
        (SHORTEST + 'comand = "x"\n', 2, "comand: is not known here. There are: package"),
        (SHORTEST + "window = true\n", 2, "window: is not a number of seconds"),
        (SHORTEST + "window = 0\n", 2, "window: is not above zero"),
        (SHORTEST + 'window = "10"\n', 2, "window: is not a number"),
        (SHORTEST + 'stop = "END"\n', 2, "stop: 'END' is not a signal"),
        (SHORTEST + 'files = ["no.py"]\n', 2, "there is no file 'no.py' beside it"),
        (SHORTEST + 'files = ["../x"]\n', 2, "there is no file '../x' beside it"),
        (SHORTEST + 'with = ["redis==5.2.1"]\n', 2, "with: is for a package"),
        ('package = "x"\ncommand = "x"\nwith = ["redis>=5"]\n', 3, "is not pinned"),
        (
            "package = 'x'\ncommand = 'x'\nwith = ['Y_a==1', 'y-A==2']\n",
            3,
            "with: y-a is there twice",
        ),
        ("package = 'x y'\ncommand = 'x'\n", 1, "package: 'x y' is not a package's name"),
        ("package = 'x==1'\ncommand = 'x'\n", 1, "package: 'x==1' is not a package's name"),
        ('command = "{revision} {redis.port}"\n', 1, "nothing fills {redis.port}"),
        ('command = "{revision} \'"\n', 1, "command: is not a command line"),
        ("command = []\n", 1, "command: is empty"),
        ("command = [1]\n", 1, "command: is not a text, nor a list of texts"),
        (SHORTEST + "\nready = { log = '(' }\n", 3, "ready.log: is not a regular expression"),
        (SHORTEST + "ready = { }\n", 2, "ready: needs exactly one of log, port"),
        (SHORTEST + "ready = { port = true, seconds = 1 }\n", 2, "ready: needs exactly one"),
        (SHORTEST + "ready = { port = false }\n", 2, "ready.port: is true, or is left out"),
        (SHORTEST + "ready = { exit = true }\n", 2, "exit is for what is done about a poke"),
        (SHORTEST + "ready = 3\n", 2, "ready: is not a table"),
        (SHORTEST + "[services.redis]\nreadi = 3\n", 3, "services.redis.readi: is not known"),
        (SHORTEST + '[services."Re dis"]\ncommand = "x"\n', 2, "lower-case letters"),
        (SHORTEST + "[poke]\ndone = { exit = true }\n", 2, "poke.command: is missing"),
        (SHORTEST + "environment = { A = 1 }\n", 2, "environment.A: is not a text"),
        ('package = 3\ncommand = "x"\n', 1, "package: is not a text"),
        (SHORTEST + "versions = '1.0'\n", 2, "versions: is not a list of texts"),
        (SHORTEST + "[poke]\ncommand = '{python} x'\n", 3, "nothing fills {python}"),
        (SHORTEST + "[services.a]\ncommand = '{revision}'\n", 3, "nothing fills {revision}"),
        (SERVICE + "ready = { log = 'up' }\n", 4, "a service is ready by port or by command"),
        (SERVICE + "ready = { command = '{folder}/x' }\n", 4, "nothing fills {folder}"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_key(
    text: str, line: int | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert (f", line {line}:" in message) == (line is not None), message


@pytest.mark.parametrize(
    ("command", "sign"),
    [
        ("tail -f x | {revision}", "|"),
        ("{revision} && true", "&&"),
        ("{revision} || true", "||"),
        ("cd x ; {revision}", ";"),
        ("cd x; {revision}", ";"),
        ("{revision} > log", ">"),
        ("{revision} >log", ">log"),
        ("{revision} >> log", ">>"),
        ("{revision} < in", "<"),
        ("{revision} &", "&"),
        ("{revision}&", "&"),
        ("{revision} 2> log", "2>"),
        ("{revision} 2>&1", "2>&1"),
        ("{revision} &> log", "&>"),
    ],
)
def test_what_only_a_shell_understands_is_refused(command: str, sign: str, tmp_path: Path) -> None:
    for text, key in (
        (f"command = '{command}'\n", "command"),
        (f"{SHORTEST}ready = {{ command = '{command}' }}\n", "ready.command"),
        (f"{SHORTEST}[poke]\ncommand = '{command}'\n", "poke.command"),
        (f"{SHORTEST}[services.a]\ncommand = '{command}'\n", "services.a.command"),
        (f"{SERVICE}counters = '{command}'\n", "services.a.counters"),
    ):
        with pytest.raises(UsageError) as caught:
            read(tmp_path, text)
        assert f"{key}: {sign} is for a shell, and there is none" in str(caught.value)
        assert '= ["sh", "-c", "…"]' in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        """'{revision} --sep "|" --on "a & b" --two=";" x'""",
        """'{revision} http://x/?a=1&b=2 --of={a>b} a|b'""",
        """'sh -c "{revision} > log 2>&1"'""",
        """["{revision}", "|", ">"]""",
        """'{revision} \\;'""",
    ],
)
def test_quoted_and_listed_signs_are_arguments(command: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"command = {command}\n").command


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b"command = ", "mine.toml", "is not TOML"),
        (b"\xff", "mine.toml", "is not TOML"),
        (b"a = " + b"[" * 5000, "mine.toml", "is not TOML"),
        (SHORTEST.encode(), "Mine of old.toml", "Call the file otherwise"),
    ],
)
def test_what_is_no_worker_file_is_refused(
    content: bytes, name: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=said):
        worker_file.read(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        worker_file.read(tmp_path / "nothing.toml")


def test_parameters_may_stand_in_braces_wherever_others_do(tmp_path: Path) -> None:
    text = (
        'command = "{revision} --jobs {jobs}"\n[parameters]\njobs = 4\nmode = "slow"\n'
        "[services.a]\ncommand = 'serve --for {jobs} --mode {mode}'\n"
    )
    found = read(tmp_path, text)
    assert found.parameters == {"jobs": 4, "mode": "slow"}
    assert found.as_plain()["parameters"] == {"jobs": 4, "mode": "slow"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[parameters]\nport = 1\n", "parameters.port: is not a name, or one that has a meaning"),
        ("[parameters]\nprocesses = 1\n", "has a meaning already"),
        ("[parameters]\nA = 1\n", "parameters.A: is not a name"),
        ("[parameters]\na = [1]\n", "parameters.a: is neither a number nor a text"),
        ("[parameters]\na = true\n", "is neither a number nor a text"),
    ],
)
def test_a_parameter_that_cannot_be_one_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(tmp_path, SHORTEST + text)
    assert says in str(raised.value)
    assert ", line 3: " in str(raised.value)


def test_for_another_machine_the_file_comes_first_with_those_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("pass\n")
    sent = worker_file.portable_files(read(tmp_path, WHOLE))
    assert list(sent.items()) == [("mine.toml", WHOLE.encode()), ("task.py", b"pass\n")]


def test_what_only_this_machine_has_goes_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_bytes(b"\xff\xfe")
    besides = WHOLE.replace("is-it --calm", "{here}/is-it")
    for text in (SHORTEST, WHOLE, besides):
        with pytest.raises(UsageError, match="only this machine has"):
            worker_file.portable_files(read(tmp_path, text))
