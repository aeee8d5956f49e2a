"""Takes from a child what reading a file does not need: other files, the network, other processes.

Landlock leaves it the code, the files of its order, and its own folder; a seccomp filter leaves it no sockets, no look
into other processes and no calls that only administrators need. Both last until the process ends, and hold for what it
starts. Linux only, as any user; what the system does not have is left out, and `missing` names it. This module imports
nothing that starts threads: a sandbox is for one thread and those that it starts later.

Sources: https://docs.kernel.org/userspace-api/landlock.html, https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

import ctypes
import os
import platform
import struct
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""numbers of Landlock's calls, the same on all processors"""
ONLY_VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
FILES_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""version of Landlock → all rights on files that it handles, from then on"""
TCP_FROM_VERSION, BIND_AND_CONNECT = 4, 3
SCOPES_FROM_VERSION, SOCKETS_AND_SIGNALS = 6, 3
"""no abstract sockets of others, no signals to others"""
RIGHTS_OF_ONE_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER_MODE = 38, 22, 2
GET_ACTION_AVAILABLE = 2
ALLOW, REFUSE, KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER_AT, PROCESSOR_AT, FIRST_ARGUMENT_AT = 0, 4, 16
"""places in struct seccomp_data"""
EACCES = 13
FROM_OTHER_SYSTEM = 0x4000_0000
"""numbers of the x32 calls of x86-64 begin here"""

_NAMES = (
    *("socket", "connect", "bind", "listen", "accept", "accept4", "ptrace", "process_vm_readv", "process_vm_writev"),
    *("pidfd_open", "pidfd_getfd", "pidfd_send_signal", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "perf_event_open", "userfaultfd", "keyctl"),
    *("add_key", "request_key", "init_module", "finit_module", "kexec_load", "swapon", "reboot"),
)
_TO_ONE_PROCESS = ("kill", "tkill", "tgkill")
"""calls that are left for the process itself"""
_NUMBERS = {
    "x86_64": (
        0xC000_003E,
        (
            *(41, 42, 49, 50, 43, 288, 101, 310, 311, 434, 438, 424, 272, 308, 165, 166, 155, 161),
            *(425, 426, 427, 321, 298, 323, 250, 248, 249, 175, 313, 246, 167, 169),
        ),
        (62, 200, 234),
    ),
    "aarch64": (
        0xC000_00B7,
        (
            *(198, 203, 200, 201, 202, 242, 117, 270, 271, 434, 438, 424, 97, 268, 40, 39, 41, 51),
            *(425, 426, 427, 280, 241, 282, 219, 217, 218, 105, 273, 104, 224, 142),
        ),
        (129, 130, 131),
    ),
}
"""processor → (its number in a filter, the numbers of `_NAMES`, the numbers of `_TO_ONE_PROCESS`)"""


def missing() -> list[str]:
    """What this system does not take from a child; empty where the sandbox is whole."""
    found = []
    if _landlock_version() < 1:
        found.append("other files can be read (the kernel has no Landlock)")
    if not _has_seccomp():
        found.append("the network can be reached (the kernel has no seccomp filters, or not on this processor)")
    return found


def enter(folder: Path, files: Iterable[Path]) -> None:
    """Leave this thread only the code, `files` to read, and `folder`; as far as the system can. Raises OSError."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if (version := _landlock_version()) >= 1:
        _leave_files(libc, version, folder, files)
    if _has_seccomp():
        _leave_calls(libc)


def _landlock_version() -> int:
    """0 where there is none."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None, use_errno=True).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ONLY_VERSION)
    return max(0, version)


def _has_seccomp() -> bool:
    if sys.platform != "linux" or platform.machine() not in _NUMBERS:
        return False
    number = {"x86_64": 317, "aarch64": 277}[platform.machine()]
    action = ctypes.c_uint32(REFUSE)
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.syscall(number, GET_ACTION_AVAILABLE, 0, ctypes.byref(action)) == 0)


def _leave_files(libc: ctypes.CDLL, version: int, folder: Path, files: Iterable[Path]) -> None:
    """Restrict this thread by Landlock. Raises OSError."""
    all_rights = FILES_OF_VERSION[max(each for each in FILES_OF_VERSION if each <= version)]
    network = BIND_AND_CONNECT if version >= TCP_FROM_VERSION else 0
    scopes = SOCKETS_AND_SIGNALS if version >= SCOPES_FROM_VERSION else 0
    attributes = struct.pack("=QQQ", all_rights, network, scopes)
    known = 8 * (1 + (version >= TCP_FROM_VERSION) + (version >= SCOPES_FROM_VERSION))
    ruleset = libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(known), 0)
    _require(ruleset)
    try:
        for path in code_folders():
            _allow(libc, ruleset, path, (EXECUTE | READ_FILE | READ_DIR) & all_rights)
        for file in (*map(Path, SYSTEM_FILES), *files):
            _allow(libc, ruleset, file, READ_FILE)
        for device in map(Path, DEVICES):
            _allow(libc, ruleset, device, (READ_FILE | WRITE_FILE | IOCTL_DEVICE) & all_rights)
        _allow(libc, ruleset, folder, all_rights & ~EXECUTE)
        _require(libc.syscall(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    """Allow `rights` on a file, or on a folder and all below it; nothing for a path that is not there."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not path.is_dir():
                rights &= RIGHTS_OF_ONE_FILE
            _require(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0))
        finally:
            os.close(opened)


SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/vmstat", "/proc/filesystems", "/proc/version"),
)
"""all but `/proc/self`: other processes' folders show their environments"""
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


@cache
def code_folders() -> list[Path]:
    """The folders that hold code and what the system says of itself; none of them holds data of ours.

    Of the checkout only its packages: the data folder may be in it.
    """
    checkout = Path(__file__).resolve().parents[2]
    packages = [path.parent for path in checkout.glob("*/__init__.py")]
    own = sysconfig.get_paths()  # without `data`, which may hold the checkout and more
    installed = [f"{sys.base_prefix}/lib", *(own[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))]
    libraries = [Path(each).resolve() for each in (*installed, *sys.path) if each]
    system = [Path(each) for each in ("/usr", "/lib", "/lib64", "/bin", "/sys", "/proc/self", "/proc/sys")]
    found = {*packages, *(path for path in libraries if not checkout.is_relative_to(path)), *system}
    return sorted(found)


def _leave_calls(libc: ctypes.CDLL) -> None:
    """Restrict this thread by a seccomp filter. Raises OSError."""
    content = program(platform.machine(), os.getpid())
    kept = ctypes.create_string_buffer(content, len(content))
    header = struct.pack("HxxxxxxQ", len(content) // 8, ctypes.addressof(kept))
    _require(libc.prctl(SET_SECCOMP, FILTER_MODE, header, 0, 0))


def program(processor: str, process: int) -> bytes:
    """The filter, as BPF instructions of 8 bytes: refuse `_NAMES`, and signals to others than `process`."""
    own, refused, signals = _NUMBERS[processor]
    assert len(refused) == len(_NAMES), "a number for each name"
    refuse = [(RETURN, 0, 0, REFUSE | EACCES)]
    lines: list[tuple[int, int, int, int]] = [
        (LOAD, 0, 0, PROCESSOR_AT),
        (JUMP_IF_EQUAL, 1, 0, own),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_IF_AT_LEAST, 0, 1, FROM_OTHER_SYSTEM),
        *refuse,
    ]
    for number in refused:
        lines += [(JUMP_IF_EQUAL, 0, 1, number), *refuse]
    for number in signals:
        lines += [(JUMP_IF_EQUAL, 0, 3, number), (LOAD, 0, 0, FIRST_ARGUMENT_AT)]
        lines += [(JUMP_IF_EQUAL, 1, 0, process), *refuse, (LOAD, 0, 0, NUMBER_AT)]
    lines.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _require(answer: int) -> None:
    """Raise OSError if a call has failed."""
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
