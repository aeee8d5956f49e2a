"""`placeto login` and `placeto logout`."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import Any

from placeto.errors import ClientError, ServerError
from placeto.remote.connection import Connection
from placeto.remote.login import Login, checked_address, checked_token, forget_login, store_login
from placeto.remote.rows import Me

UNAUTHORIZED = 401
FROM_STDIN = "-"


def add_login(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("login", help="store the address of a server, and the token for it")
    command.add_argument("address", metavar="ADDRESS", help="such as http://127.0.0.1:8000")
    command.add_argument("--token", metavar="-", help="read the token from the standard input, not from the terminal")
    command.set_defaults(command=_login)


def add_logout(commands: Any) -> None:
    """Adds the command."""
    command = commands.add_parser("logout", help="forget the server and the token")
    command.set_defaults(command=_logout)


def _login(options: argparse.Namespace) -> int:
    if options.token not in (None, FROM_STDIN):
        raise ClientError("--token takes -, which reads it from the standard input: others see what commands are given")
    address = checked_address(options.address)
    login = Login(address, checked_token(sys.stdin.readline())) if options.token else Login(address, None)
    try:
        me = _me(login)
    except ServerError as error:
        if error.status != UNAUTHORIZED or login.token is not None:
            raise
        login = Login(address, _asked_token(address))
        me = _me(login)
    path = store_login(login)
    print(f"logged in at {address}{_who(me)}; stored in {path}")
    if login.token is not None and not login.is_encrypted:
        print(f"placeto: {address} is not encrypted: who sees the traffic can use the token", file=sys.stderr)
    return 0


def _me(login: Login) -> Me:
    """Who that login is. Raises ClientError for a server that does not take it."""
    connection = Connection(login)
    try:
        return Me.of(connection.get("/me"))
    finally:
        connection.close()


def _asked_token(address: str) -> Any:
    if not sys.stdin.isatty():
        raise ClientError(f"{address} asks for a token: give it on the standard input, with --token -")
    return checked_token(getpass.getpass(f"Token for {address} (it is not shown): "))


def _who(me: Me) -> str:
    return "" if me.user is None else f" as {me.user}, who may {me.scope}"


def _logout(_options: argparse.Namespace) -> int:
    print("logged out" if forget_login() else "there was no login")
    return 0
