"""Starts the processes of a run, blocks until they end, and writes what each has used.

    python -I -S launch.py REPORT PROCESSES COMMAND...

Runs on the revision's own interpreter with the standard library only, and polls nothing while the
workers run: an engine's own launcher may look at its children every millisecond, which can cost
more than the workers it starts.

With an argument ``{addresses}`` they are a cluster, as in production: that is where all of them
listen, ``HOST:PORT;…``, and ``{index}`` is each process's number. Ports are taken outside the
kernel's range for outgoing connections and are locked for the life of the run, so that two runs at
once cannot meet. A process starts when the one before it listens: a bytewax process that finds its
peer not yet listening sleeps for a second, and whether it does would be chance.

REPORT receives JSON: ``launcher`` (this process) and ``children``, each with ``pid``,
``exit_code``, ``user_s``, ``system_s``, ``rss_bytes``, ``switches_voluntary`` and
``switches_involuntary``; a child has ``ended_ns``, too, on the monotonic clock. A child's figures
include its descendants, if it waited for them. The exit code is that of the first child that
failed, 128 + N for one killed by signal N.
"""

from __future__ import annotations

# Few and light imports: what this program costs is in every run's total.
import fcntl
import os
import resource
import signal
import stat
import sys
import time

SPAWNED_VARIABLE = "BENCH_SPAWNED_NS"
"""The environment variable that tells a worker when it was started, on the monotonic clock."""

_PORTS = range(12_000, 32_000)
_LISTENING_WITHIN_S = 30.0


def main(arguments: list[str]) -> int:
    """Runs the command ``PROCESSES`` times; returns the exit code."""
    report_path, processes, command = arguments[0], int(arguments[1]), arguments[2:]
    held, ports = reserve_ports(processes if "{addresses}" in command else 0)
    addresses = ";".join("127.0.0.1:%d" % port for port in ports)
    running: list[int] = []

    def pass_on(number: int, _frame: object) -> None:
        _kill(running, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)

    children: list[dict[str, object]] = []
    failed = 0
    for index in range(processes):
        if failed:
            break
        filled = {"{index}": str(index), "{addresses}": addresses}
        running.append(_spawn([filled.get(argument, argument) for argument in command]))
        # The last process listens to nobody.
        if index < processes - 1:
            failed = _until_listening(ports[index], running, children)
    while running:
        # The first failure is the reason; those after it are ours.
        code = _reap(running, children, 0)
        failed = failed or code
    for lock in held:
        os.close(lock)
    import json

    report = {
        "launcher": _usage(os.getpid(), 0, resource.getrusage(resource.RUSAGE_SELF)),
        "children": children,
    }
    with open(report_path + ".part", "w", encoding="utf-8") as file:
        json.dump(report, file)
    os.replace(report_path + ".part", report_path)
    return failed


def reserve_ports(count: int) -> tuple[list[int], list[int]]:
    """``count`` free loopback ports, and the files whose locks keep others off them."""
    folder = _private_folder() if count else ""
    held: list[int] = []
    ports: list[int] = []
    # Launchers begin at different places, so that they rarely contend.
    start = (os.getpid() * 257) % len(_PORTS)
    for offset in range(len(_PORTS)):
        if len(ports) == count:
            return held, ports
        port = _PORTS[(start + offset) % len(_PORTS)]
        try:
            # Not inherited by the workers, and held for the life of the run.
            options = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = os.open(os.path.join(folder, str(port)), options, 0o600)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        if _is_free(port):
            held.append(lock)
            ports.append(port)
        else:
            os.close(lock)
    raise SystemExit("no %d free loopback ports between %d and %d" % (count, _PORTS[0], _PORTS[-1]))


def _private_folder() -> str:
    """Where ports are locked: a folder that nobody else can lay anything into."""
    shared = os.path.join(os.environ.get("TMPDIR", "/tmp"), "waitbench-ports-%d" % os.getuid())
    own = os.path.join(os.environ.get("HOME", ""), ".cache", "waitbench", "ports")
    for folder in (own, shared) if os.path.isabs(own) else (shared,):
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            status = os.lstat(folder)
        except OSError:
            continue
        is_own = status.st_uid == os.getuid() and not status.st_mode & 0o022
        if is_own and stat.S_ISDIR(status.st_mode) and os.access(folder, os.W_OK):
            return folder
    raise SystemExit("neither %s nor %s can be a folder of this user's alone" % (own, shared))


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _spawn(command: list[str]) -> int:
    environment = dict(os.environ)
    environment[SPAWNED_VARIABLE] = str(time.monotonic_ns())
    return os.posix_spawn(command[0], command, environment)


def _until_listening(port: int, running: list[int], children: list[dict[str, object]]) -> int:
    """Returns when a port is listened to, or with an exit code when a child fails first."""
    end = time.monotonic() + _LISTENING_WITHIN_S
    while time.monotonic() < end:
        listening = _is_listening(port)
        if listening is None or listening:
            return 0
        failed = _reap(running, children, os.WNOHANG)
        if failed:
            return failed
        time.sleep(0.01)
    return 0


def _is_listening(port: int) -> bool | None:
    """``None`` where the system cannot say.

    Connecting would tell too, but the worker would take it for a peer.
    """
    try:
        with open("/proc/net/tcp", encoding="ascii") as file:
            lines = file.readlines()[1:]
    except OSError:
        return None
    wanted = ":%04X" % port
    # Fields: slot, local address, remote address, state; 0A is LISTEN.
    return any(fields[1].endswith(wanted) and fields[3] == "0A" for fields in map(str.split, lines))


def _reap(running: list[int], children: list[dict[str, object]], options: int) -> int:
    """Waits for a child to end (or looks once, with WNOHANG).

    Kills the rest and returns its exit code if it failed.
    """
    pid, status, used = os.wait4(-1, options)
    ended_ns = time.monotonic_ns()
    if pid == 0 or pid not in running:
        return 0
    running.remove(pid)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
    children.append({**_usage(pid, code, used), "ended_ns": ended_ns})
    if code:
        _kill(running, signal.SIGKILL)
    return code


def _kill(pids: list[int], number: int) -> None:
    for pid in list(pids):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _usage(pid: int, exit_code: int, used: resource.struct_rusage) -> dict[str, object]:
    return {
        "pid": pid,
        "exit_code": exit_code,
        "user_s": used.ru_utime,
        "system_s": used.ru_stime,
        # Linux counts in KiB, macOS in bytes.
        "rss_bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "switches_voluntary": used.ru_nvcsw,
        "switches_involuntary": used.ru_nivcsw,
    }


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    sys.stdout.flush()
    # Not sys.exit: a teardown comes after the report, so its CPU would be missing from it.
    os._exit(exit_code)
