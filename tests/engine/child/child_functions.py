"""What the tests of engine/child/parent.py run in children."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.errors import ClusterError
from engine.events import Json

MEBIBYTE = 1024**2


def echo(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Gives back what it got, leaves a file and tells its progress."""
    report_progress("first", 1, 2)
    report_progress("second", 2, 2)
    (folder / "left.txt").write_text("left behind")
    return {"numbers": np.arange(3)}, {"order": order, "folder": str(folder), "pid": os.getpid()}


def environment(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The names of its environment's variables, its working folder, and whether TensorFlow is loaded."""
    names: list[Json] = list(os.environ)
    return {}, {"names": names, "cwd": str(Path.cwd()), "tensorflow": "tensorflow" in sys.modules}


def surroundings(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """What the process is and has: ids, descriptors, threads, limits beyond what it had before, umask, signals."""
    umask = os.umask(0)
    os.umask(umask)
    return {}, {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "descriptors": {path.name: str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.exists()},
        "threads": threading.active_count(),
        "address_space": resource.getrlimit(resource.RLIMIT_AS)[0],
        "cpu_seconds": resource.getrlimit(resource.RLIMIT_CPU)[0],
        "used_cpu_seconds": time.process_time(),
        "file_bytes": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        "umask": umask,
        "child_ended": str(signal.getsignal(signal.SIGCHLD)),
    }


def start_a_thread() -> None:
    """As some libraries do when they are loaded."""
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def take_processor_time() -> None:
    """So that a server has used some before it forks."""
    while time.process_time() < 1.5:
        pass


def typed_error(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """A user's mistake."""
    raise ClusterError("what\u202e", where="where", allowed="allowed", advice="advice", field="cluster")


def bug(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """A mistake of ours."""
    raise KeyError("secret detail")


def hoard(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Takes more and more memory."""
    held = []
    while True:
        held.append(np.ones(32 * MEBIBYTE, dtype=np.uint8))


def end_by_signal(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Ends as compiled code ends when it fails."""
    sys.stderr.write(cast(str, order["last_words"]))
    sys.stderr.flush()
    os.kill(os.getpid(), signal.Signals[cast(str, order["signal"])])
    time.sleep(60)
    raise AssertionError("still alive")


def spin(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Works for ever."""
    while True:
        pass


def sleep_with_a_child_of_its_own(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Starts a process, writes both ids and its folder where the order says, and sleeps for ever."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    reported = Path(cast(str, order["told"]))
    reported.with_suffix(".partial").write_text(f"{os.getpid()} {other.pid} {folder}")
    reported.with_suffix(".partial").rename(reported)
    time.sleep(600)
    raise AssertionError("still alive")


def wait_for_a_busy_process(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Does nothing itself while a process in a session of its own computes."""
    code = "import time\nwhile time.process_time() < 2.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True, start_new_session=True)
    return {}, {}


def report_and_take_a_second(_order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Takes a second after its report."""
    report_progress("first", 1, 1)
    time.sleep(1.0)
    return {}, {}


def probe(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """What it can read, write and reach: name → "yes", or the error's name."""
    (folder / "own.txt").write_text("it may write here")
    outside, parent = Path(cast(str, order["outside"])), os.getppid()
    attempts: dict[str, Callable[[], object]] = {
        "file": Path(cast(str, order["file"])).read_bytes,
        "own folder": (folder / "own.txt").read_text,
        "secret key": (outside / "secret_key").read_bytes,
        "database": (outside / "placeto.sqlite3").read_bytes,
        "list": lambda: list(outside.iterdir()),
        "write": lambda: (outside / "secret_key").write_text("mine"),
        "delete": (outside / "secret_key").unlink,
        "environment": Path(f"/proc/{order['process']}/environ").read_bytes,
        "memory": lambda: os.open(f"/proc/{order['process']}/mem", os.O_RDONLY),
        "Redis": lambda: socket.socket(socket.AF_UNIX).connect(str(outside / "redis.sock")),
        "TCP": lambda: socket.create_connection(("127.0.0.1", cast(int, order["port"])), timeout=5),
        "signal": lambda: os.kill(parent, 0),
        "program": lambda: subprocess.run(["/bin/cat", str(outside / "secret_key")], check=True, capture_output=True),
    }
    found: dict[str, Json] = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            found[name] = "yes"
        except (OSError, subprocess.SubprocessError) as error:
            found[name] = type(error).__name__
    return {}, found


def sleep_at_first(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Writes its id where the order says and sleeps for ever; the next one that finds it there ends."""
    reported = Path(cast(str, order["told"]))
    if reported.exists():
        return {}, {"parent": os.getppid()}
    reported.with_suffix(".partial").write_text(str(os.getpid()))
    reported.with_suffix(".partial").rename(reported)
    time.sleep(600)
    raise AssertionError("still alive")


def sleep_for_its_member(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """The same for the only member of the order, or the mistake of a user where the member says so."""
    [member] = cast(list[dict[str, Json]], order["members"])
    if "error" in member:
        return typed_error(member, folder, report_progress)
    return sleep_with_a_child_of_its_own(member, folder, report_progress)


def fill_the_disk(_order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Writes without end."""
    with (folder / "large").open("wb") as file:
        while True:
            file.write(bytes(MEBIBYTE))


def chatter(_order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Writes much to both outputs, as TensorFlow does, and progress between."""
    for index in range(2000):
        sys.stdout.write("noise " * 20 + "\n")
        sys.stderr.write("noise " * 20 + "\n")
        report_progress("chattering", index, 2000)
    return {}, {}


def network(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Its network's interfaces, whether it reaches `port` of its loopback, and whether it reaches its own server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        own = server.getsockname()[1]
        reached: dict[str, Json] = {"outside": _reaches(cast(int, order["port"])), "own": _reaches(own)}
    return {}, {"interfaces": [name for _, name in socket.if_nameindex()], **reached}


def _reaches(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True
