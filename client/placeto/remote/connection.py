"""Requests to a server: its errors become exceptions, and what may pass is tried again."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from placeto.errors import ClientError, ServerError
from placeto.remote.login import Login
from placeto.whole_files import written_whole

if TYPE_CHECKING:
    import httpx

API = "/api/v1"
ANSWER_SECONDS, CONNECT_SECONDS = 90.0, 10.0
PATIENCE_SECONDS = 120.0
"""of tries that fail without one success between them"""
LONGEST_WAIT_SECONDS = 60.0
NOT_FOUND, CONFLICT = 404, 409
PASSING = (429, 502, 503, 504)
"""statuses of answers that another try may not get"""
NO_HTTPX = "talking to a server needs httpx, which is not installed here: pip install httpx"


class LostError(ClientError):
    """No answer came, or only a part of it."""


class Connection:
    """A server, asked for one answer at a time. What was lost or refused for a while is sent again.

    It may be sent twice: what makes something carries an `Idempotency-Key`, so that two requests make one row.
    """

    def __init__(
        self, login: Login, patience_seconds: float = PATIENCE_SECONDS, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Asks nothing yet.

        Raises:
            ClientError: httpx is missing.
        """
        try:
            import httpx
        except ImportError:
            raise ClientError(NO_HTTPX) from None
        self.login = login
        self.sleep = sleep
        self._patience_seconds = patience_seconds
        self._has_answered = False
        self._http = httpx.Client(
            base_url=login.address + API,
            headers=_headers(login),
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=not login.is_on_this_machine,  # no proxy stands before this machine
        )

    def __repr__(self) -> str:
        return f"Connection({self.login.address})"

    def close(self) -> None:
        """Ends the connection."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """The JSON below that path."""
        return _json(self.send("GET", path, params={key: value for key, value in query.items() if value is not None}))

    def all_of(self, path: str, limit: int | None = None) -> Iterator[Any]:
        """The items of a list, page by page, at most `limit`."""
        after: str | None = None
        left = limit
        while left is None or left > 0:
            page = self.get(path, after=after, limit=None if left is None else min(left, 200))
            yield from page["items"][:left]
            left = None if left is None else left - len(page["items"])
            after = page["next"]
            if after is None:
                return

    def make(self, path: str, *, key: str = "", **body: Any) -> Any:
        """Makes something, once, by a POST of JSON or what httpx sends (`files`, `data`); returns its row.

        Args:
            key: The same for the same thing, for a day; a new one without it.
            body: `json`, `files`, `data`.
        """
        return _json(self.send("POST", path, headers={"Idempotency-Key": key or str(uuid.uuid4())}, **body))

    def send(self, method: str, path: str, **what: Any) -> httpx.Response:
        """The answer to a request that may be sent again.

        Raises:
            ServerError: The server refuses.
            ClientError: It gives no answer.
        """
        return self._patiently(lambda: self._http.request(method, path, **what))

    def delete(self, path: str) -> None:
        """Deletes what the path names. It may be sent twice: what is gone at the second time has been deleted.

        Raises:
            ServerError: The server refuses, or there is nothing of that name.
            ClientError: It gives no answer.
        """
        tries: list[str] = []

        def once() -> httpx.Response:
            tries.append(path)
            return self._http.request("DELETE", path)

        try:
            self._patiently(once)
        except ServerError as error:
            if error.status != NOT_FOUND or len(tries) == 1:
                raise

    def send_once(self, method: str, path: str, **what: Any) -> httpx.Response:
        """The answer to a request that is sent once.

        Raises:
            ServerError: The server refuses.
            LostError: No answer came.
        """
        return _accepted(self._lost_or(lambda: self._http.request(method, path, **what)))

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str], silence_seconds: float) -> Iterator[Iterator[bytes]]:
        """The pieces of a long answer, as they come.

        Raises:
            ServerError: The server refuses.
            LostError: No answer came, its rest did not, or nothing came for `silence_seconds`.
        """
        import httpx

        timeout = httpx.Timeout(silence_seconds, connect=CONNECT_SECONDS)
        try:
            with self._http.stream("GET", path, headers=dict(headers), timeout=timeout) as answer:
                if answer.is_error:
                    answer.read()
                yield _accepted(answer).iter_bytes()
        except httpx.TransportError as error:
            raise self._lost(error) from None

    def download(self, path: str, destination: Path, **query: Any) -> None:
        """Writes a file of the server, whole or not at all."""

        def once() -> httpx.Response:
            with self._http.stream("GET", path, params=query) as answer:
                if not answer.is_success:
                    answer.read()
                    return answer
                with written_whole(destination) as file:
                    for piece in answer.iter_bytes():
                        file.write(piece)
                return answer

        self._patiently(once)

    def _patiently(self, once: Callable[[], httpx.Response]) -> httpx.Response:
        waits = Waits(self._patience_seconds, self.sleep)
        while True:
            try:
                answer = self._lost_or(once)
            except LostError as error:
                if not (self._has_answered and waits.wait()):
                    raise error from None
                continue
            if answer.status_code not in PASSING or not waits.wait(_asked_wait(answer)):
                return _accepted(answer)

    def _lost_or(self, once: Callable[[], httpx.Response]) -> httpx.Response:
        import httpx

        try:
            answer = once()
        except httpx.TransportError as error:
            raise self._lost(error) from None
        self._has_answered = True
        return answer

    def _lost(self, error: Exception) -> LostError:
        words = " ".join(str(error).split()) or type(error).__name__
        return LostError(f"{self.login.address} does not answer: {words}")


class Waits:
    """Waits between tries: twice as long each time, until they have lasted for `patience_seconds` together."""

    def __init__(self, patience_seconds: float, sleep: Callable[[float], None]) -> None:
        self._left_seconds, self._sleep = patience_seconds, sleep
        self._next_seconds = 0.5

    def wait(self, asked_seconds: float | None = None) -> bool:
        """Wait, as long as the server asks for if it does; False if patience ends before."""
        seconds = self._next_seconds * random.uniform(0.75, 1.25)  # noqa: S311  only so that clients do not meet again
        if asked_seconds is not None:
            seconds = max(seconds, asked_seconds)
        if seconds > self._left_seconds:
            return False
        self._left_seconds -= seconds
        self._next_seconds = min(2 * self._next_seconds, LONGEST_WAIT_SECONDS)
        self._sleep(seconds)
        return True


def path_of(*parts: object) -> str:
    """`/runs/ID/report` of its parts."""
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


def _headers(login: Login) -> dict[str, str]:
    headers = {"User-Agent": "placeto", "Accept": "application/json, */*"}
    if login.token is not None:
        headers["Authorization"] = f"Bearer {login.token.reveal()}"
    return headers


def _asked_wait(answer: httpx.Response) -> float | None:
    """The seconds of `Retry-After`; None without it, and for a date, which no answer of ours has."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _accepted(answer: httpx.Response) -> httpx.Response:
    """The answer, if it is no refusal. Raises ServerError."""
    if answer.is_success:
        return answer
    if answer.is_redirect:
        address = answer.headers.get("Location", "elsewhere")
        message = f"{answer.url.host} sends on to {address}: log in with the address that it has now"
        raise ServerError(answer.status_code, "bad_answer", message)
    with suppress(ValueError, KeyError, TypeError):
        error = json.loads(answer.content)["error"]
        raise ServerError(answer.status_code, str(error["code"]), str(error["message"]), error.get("field"))
    message = f"{answer.url.host} answered {answer.status_code} {answer.reason_phrase}, not as Placeto Explorer does"
    raise ServerError(answer.status_code, "bad_answer", message)


def _json(answer: httpx.Response) -> Any:
    try:
        return json.loads(answer.content)
    except ValueError:
        message = f"{answer.url.host} answered no JSON, so this is not the address of Placeto Explorer"
        raise ServerError(answer.status_code, "bad_answer", message) from None
