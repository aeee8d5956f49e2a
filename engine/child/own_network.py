"""Puts a child into a network namespace of its own, whose loopback is all the network it has.

For children that start servers: nothing outside can reach them, and they reach nothing. Linux only, as root or with
user namespaces. This module imports nothing that starts threads, since a user namespace takes a process with one.
"""

import ctypes
import os
import socket
import struct
import sys
from typing import Any, NoReturn

CLONE_NEWUSER, CLONE_NEWNET = 0x1000_0000, 0x4000_0000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
LOOPBACK = b"lo"
INTERFACE = struct.Struct("16sh22x")
"""struct ifreq with flags"""
REFUSE = "engine.child.own_network:refuse"


def enter() -> None:
    """Move this process into a new network namespace with a loopback that is up. Raises OSError."""
    if sys.platform != "linux":
        raise OSError(0, "only Linux has network namespaces")
    _unshare()
    import fcntl  # absent elsewhere

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, SIOCGIFFLAGS, INTERFACE.pack(LOOPBACK, 0))
        _, flags = INTERFACE.unpack(answer)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, INTERFACE.pack(LOOPBACK, flags | IFF_UP))


def _unshare() -> None:
    """Make the namespace, in a new user namespace where this user may not make one otherwise. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) and libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def refuse(arguments: dict[str, Any], *_: object) -> NoReturn:
    """The function of a child that got no network of its own."""
    from engine.errors import SettingsError

    raise SettingsError(
        f"no network namespace can be made here: {arguments['reason']}",
        where="processes",
        allowed="Linux, as root or where users may make namespaces",
        field="processes",
    )
