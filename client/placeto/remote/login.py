"""Which server, and by which token: from arguments, the environment, or the file that `placeto login` writes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from placeto.errors import ClientError
from placeto.remote.environment import ADDRESS, CONFIGURATION, TOKEN, variable

SHOWN_CHARACTERS = 8
OWN_HOSTS = ("127.0.0.1", "::1", "localhost")
NO_SERVER = "no server is known: run `placeto login ADDRESS`, or give the address"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, which is printed nowhere."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """The token itself, for the request that needs it."""
        return self._text

    def __repr__(self) -> str:
        return f"Token(…{self._text[-SHOWN_CHARACTERS:]})"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Login:
    """A server, and the token by which it knows who asks; None where it has no accounts."""

    address: str
    token: Token | None

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the address is of this machine alone."""
        return urlsplit(self.address).hostname in OWN_HOSTS

    @property
    def is_encrypted(self) -> bool:
        """Whether nobody on the way can read the token."""
        return self.is_on_this_machine or self.address.startswith("https:")


def checked_address(text: str) -> str:
    """The address without a slash at its end.

    Raises:
        ClientError: It is none.
    """
    address = text.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.username is not None or parts.query or parts.fragment:
        raise ClientError(f"{text!r} is no address of a server; allowed: such as http://127.0.0.1:8000")
    return address


def checked_token(text: str) -> Token:
    """The token of a text.

    Raises:
        ClientError: It has characters that no token has.
    """
    text = text.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ClientError("this is no token; allowed: what the page of your account showed, such as plx_…")
    return Token(text)


def find_login(address: str | None, token: str | None) -> Login:
    """The login: each part from the first place that has it. A stored token goes to its own server alone.

    Raises:
        ClientError: No address, or one that is none.
    """
    stored = read_login()
    named = address or variable(ADDRESS)
    if not named and stored is None:
        raise ClientError(NO_SERVER)
    chosen = checked_address(named) if named or stored is None else stored.address
    if token or variable(TOKEN):
        return Login(chosen, checked_token(token or variable(TOKEN)))
    return Login(chosen, stored.token if stored is not None and stored.address == chosen else None)


def login_file() -> Path:
    """Where `placeto login` stores it."""
    folder = variable(CONFIGURATION)
    return (Path(folder) if folder else Path.home() / ".config") / "placeto" / "login.json"


def read_login() -> Login | None:
    """The stored login, if there is one.

    Raises:
        ClientError: The file is not as `placeto login` writes it.
    """
    path = login_file()
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        address, token = values["address"], values["token"]
        return Login(checked_address(address), None if token is None else checked_token(token))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ClientError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, ClientError):
        raise ClientError(f"{path}: this is no login; run `placeto login ADDRESS` again") from None


def store_login(login: Login) -> Path:
    """Writes the file, which nobody else may read; returns its path.

    Raises:
        OSError: It cannot be written.
    """
    path = login_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps({"address": login.address, "token": None if login.token is None else login.token.reveal()})
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    temporary.replace(path)
    return path


def forget_login() -> bool:
    """Deletes the file; whether there was one."""
    path = login_file()
    was_there = path.exists()
    path.unlink(missing_ok=True)
    return was_there
