"""Worker files: what is read of them, and what is said of those that are wrong."""

from pathlib import Path

import pytest

from waitbench.engines.worker import file as worker_file
from waitbench.engines.worker import launched
from waitbench.model.errors import UsageError
from waitbench.model.worker import Answer, Condition, WorkerFile

SHORTEST = 'command = "{revision} --wait"\n'
SERVICE = f"{SHORTEST}[services.a]\ncommand = 'x'\n"
SIZED = f"{SHORTEST}parameters = {{ size = 3 }}\n"
UNTIL_EXIT = f"{SHORTEST}window = 'until-exit'\n"
METRICS = "command = '{revision} {metrics}'\n[metrics.time]\nunit = 's'\n"
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


@pytest.mark.parametrize(
    ("text", "condition", "window_s"),
    [(SHORTEST, Condition(seconds=1.0), 10.0), (UNTIL_EXIT, Condition(seconds=0.0), None)],
)
def test_a_program_needs_no_more_than_its_command(
    text: str, condition: Condition, window_s: float | None, tmp_path: Path
) -> None:
    found = read(tmp_path, text)
    assert (found.name, found.package, found.command) == ("mine", None, ("{revision}", "--wait"))
    assert found.ready == found.settled == condition
    assert (found.ends_by_itself, found.stop) == (window_s is None, "TERM")
    assert window_s in (None, found.window_s)


def test_all_that_a_file_may_say_is_read(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text("pass\n")
    found = read(tmp_path, WHOLE)
    assert (found.package, found.module) == ("some-package", "")
    assert found.versions == ("1.0", "2.0")
    assert found.beside == ("redis==5.2.1",)
    assert launched(found, found.parameters)["files"] == [str(tmp_path / "task.py")]
    assert found.command[-1] == "{not a placeholder}"
    assert found.ready == Condition(log="Listening", within=5.0)
    assert found.settled.command == ("is-it", "--calm")
    assert (found.window_s, found.gate_window_s) == (20.0, 3.0)
    assert found.stop == "INT"
    redis = found.services["redis"]
    assert redis.ready == Condition(port=True)
    assert redis.counters == ("count", "{port}")
    assert found.poke is not None
    assert found.poke.done == Answer(log="Job OK")


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
    ("text", "said"),
    [
        ("", "missing required field `command`."),
        ('command = "sleep 1"\n', "command: there is no package, so it needs {revision}"),
        (SHORTEST + 'comand = "x"\n', "unknown field `comand`."),
        (SHORTEST + "window = true\n", "Expected `float | str`, got `bool` - at `$.window`."),
        (SHORTEST + "window = 0\n", "Expected `float` > 0.0 - at `$.window`."),
        (SHORTEST + 'window = "10"\n', "Invalid enum value '10' - at `$.window`."),
        (SHORTEST + 'stop = "END"\n', "stop: 'END' is not a signal"),
        (SHORTEST + 'files = ["no.py"]\n', "files: there is no file 'no.py' beside it"),
        (SHORTEST + 'files = ["../x"]\n', "files: there is no file '../x' beside it"),
        (SHORTEST + 'with = ["redis==5.2.1"]\n', "with: is for a package or variants"),
        ('package = "x"\ncommand = "x"\nwith = ["redis>=5"]\n', "'redis>=5' is not pinned"),
        ("package = 'x y'\ncommand = 'x'\n", "package: 'x y' is not a package's name"),
        (SHORTEST + 'python = "3"\n', "python: '3' is not understood"),
        ('command = "{revision} {redis.port}"\n', "command: nothing fills {redis.port}"),
        ('command = "{revision} {metrics}"\n', "command: nothing fills {metrics}"),
        (
            'command = "{revision} \'"\n',
            "it is not a command line: No closing quotation - at `$.command`",
        ),
        ("command = []\n", "it is empty - at `$.command`"),
        ("command = [1]\n", "it is neither a text nor a list of texts - at `$.command`"),
        (SHORTEST + "\nready = { log = '(' }\n", "log is not a regular expression"),
        (SHORTEST + "ready = { }\n", "needs exactly one of log, port"),
        (SHORTEST + "ready = { port = true, seconds = 1 }\n", "needs exactly one"),
        (SHORTEST + "ready = { port = false }\n", "Invalid enum value False - at `$.ready.port`"),
        (SHORTEST + "ready = { exit = true }\n", "unknown field `exit` - at `$.ready`"),
        (SHORTEST + "ready = 3\n", "got `int` - at `$.ready`."),
        (SERVICE + "readi = 3\n", "unknown field `readi` - at `$.services[...]`"),
        (SERVICE + "[services.b]\n", "missing required field `command` - at `$.services[...]`"),
        (SERVICE + "[services.b]\ncommand = []\n", "it is empty - at `$.services[...].command`"),
        (SHORTEST + '[services."Re dis"]\ncommand = "x"\n', "at `key` in `$.services`"),
        (
            SHORTEST + "[poke]\ndone = { exit = true }\n",
            "missing required field `command` - at `$.poke`",
        ),
        (
            SHORTEST + "[poke]\ncommand = 'x'\ndone = {exti = true}\n",
            "unknown field `exti` - at `$.poke.done`",
        ),
        (SHORTEST + "environment = { A = 1 }\n", "got `int` - at `$.environment[...]`."),
        ('package = 3\ncommand = "x"\n', "got `int` - at `$.package`."),
        (SHORTEST + "versions = '1.0'\n", "got `str` - at `$.versions`."),
        (SHORTEST + "[poke]\ncommand = '{python} x'\n", "poke.command: nothing fills {python}"),
        (SHORTEST + "[services.a]\ncommand = '{revision}'\n", "nothing fills {revision}"),
        (SERVICE + "ready = { log = 'up' }\n", "a service is ready by port or by command"),
        (SERVICE + "ready = { command = '{folder}/x' }\n", "nothing fills {folder}"),
        (SHORTEST + "[parameters]\nport = 1\n", "parameters.port: has a meaning already"),
        (SHORTEST + "[parameters]\nprocesses = 1\n", "parameters.processes: has a meaning"),
        (SHORTEST + "[parameters]\nA = 1\n", "at `key` in `$.parameters`"),
        (SHORTEST + "[parameters]\na = true\n", "got `bool` - at `$.parameters[...]`"),
        (SHORTEST + "[scenarios.big]\nsize = 1\n", "scenarios.big.size: is not one of the param"),
        (SIZED + "[scenarios.big]\nsize = 'L'\n", "scenarios.big.size: 'L' is not of the kind"),
        (SIZED + "[scenarios.big]\nsize = [1]\n", "got `array` - at `$.scenarios[...][...]`"),
        (SHORTEST + "variants = ['A b']\n", "at `$.variants[0]`"),
        (
            SHORTEST + "variants = ['a']\npackage = 'x'\n",
            "variants: a revision is either a variant",
        ),
        ("command = 'x'\nvariants = ['a']\n", "it needs {revision}: the variant"),
        (UNTIL_EXIT + "settled = { seconds = 1 }\n", "settled: does not go with a window until"),
        (UNTIL_EXIT + "gate_window = 1\n", "gate_window: does not go with a window until exit"),
        (UNTIL_EXIT + "[poke]\ncommand = 'true'\n", "poke: does not go with a window until exit"),
        (SHORTEST + "[metrics.a]\n", "metrics: the command needs {metrics}"),
        (METRICS + "show = ['p100']\n", "at `$.metrics[...].show[0]`"),
        (METRICS + "sow = ['p99']\n", "unknown field `sow` - at `$.metrics[...]`"),
    ],
)
def test_what_is_wrong_is_said_with_its_table_and_key(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.startswith("--worker ")
    assert said in message


SIGNS = {
    **{
        f"{{revision}} {sign} x": sign for sign in ("|", "&&", "||", ";", ">", ">>", "<", "&", "2>")
    },
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
        (f"{SHORTEST}[services.a]\ncommand = '{command}'\n", "services[...].command"),
        (f"{SERVICE}counters = '{command}'\n", "services[...].counters"),
    ):
        with pytest.raises(UsageError) as caught:
            read(tmp_path, text)
        assert f": {SIGNS[command]} is for a shell, and there is none" in str(caught.value)
        assert f"at `$.{key}`" in str(caught.value)
        assert '["sh", "-c", "…"]' in str(caught.value)


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


def test_a_service_may_be_told_where_those_before_it_are(tmp_path: Path) -> None:
    second = SERVICE + "[services.b]\ncommand = 'x {a.port} {a.folder}'\n"
    assert read(tmp_path, second).services["b"].command == ("x", "{a.port}", "{a.folder}")
    with pytest.raises(UsageError, match=r"services.a.command: nothing fills \{b.port\}"):
        read(tmp_path, second.replace("command = 'x'", "command = 'x {b.port}'"))


def test_variants_are_what_workers_measures_unless_it_names_versions(tmp_path: Path) -> None:
    text = SHORTEST + "variants = ['blocking', 'nonblocking']\n"
    assert read(tmp_path, text).revisions == ("blocking", "nonblocking")
    assert read(tmp_path, text + "versions = ['blocking']\n").revisions == ("blocking",)
