"""A user's script: sends forms, reads JSON, follows a stream of events."""

import http.client
import json
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TOKEN = "c" * 32
"""any text of this length, in the cookie and in the form, passes the check of forms"""
TIMEOUT_SECONDS = 40.0

Fields = Mapping[str, str | Sequence[str]]


class UnreachableError(Exception):
    """The application did not answer, or answered that it cannot for now: try again."""

    def __init__(self, sentence: str, status: int = 0) -> None:
        """`status`: of the answer; 0 without one."""
        super().__init__(sentence)
        self.status = status


class RefusedError(Exception):
    """An answer that no later try changes."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Visitor:
    """One user of the application at `port` of this machine. Every request may raise UnreachableError."""

    def __init__(self, port: int) -> None:
        self._port = port

    def json(self, path: str) -> Any:
        """The JSON at `path`. Raises RefusedError."""
        return json.loads(self.read(path))

    def read(self, path: str) -> bytes:
        """The body of a GET. Raises RefusedError."""
        status, _, body = self._ask("GET", path, None, {})
        if status != http.client.OK:
            raise RefusedError(f"{path}: {status} {body[:200]!r}", status)
        return body

    def send(self, path: str, fields: Fields) -> str:
        """Send a form; the path of the page that it leads to. Raises RefusedError."""
        body = urllib.parse.urlencode(fields, doseq=True).encode()
        return self._post(path, body, "application/x-www-form-urlencoded")

    def upload(self, path: str, name: str, content: bytes) -> str:
        """Send a file; the path of its page. Raises RefusedError."""
        body, content_type = multipart(name, content)
        return self._post(path, body, content_type)

    def begin_upload(self, path: str, name: str, content: bytes, sent_bytes: int) -> http.client.HTTPConnection:
        """Send only the first `sent_bytes` of an upload's body, and keep the connection open."""
        body, content_type = multipart(name, content)
        connection = self._connection()
        connection.putrequest("POST", path)
        for header, value in {**_headers(content_type), "Content-Length": str(len(body))}.items():
            connection.putheader(header, value)
        try:
            connection.endheaders()
            connection.send(body[:sent_bytes])
        except OSError as error:
            raise UnreachableError(str(error)) from None
        return connection

    def stream(self, path: str, after: int) -> Iterator[dict[str, Any]]:
        """The events of one connection to an event stream, after number `after`."""
        connection = self._connection()
        try:
            connection.request("GET", path, headers={"Last-Event-ID": str(after)})
            response = connection.getresponse()
            if response.status != http.client.OK:
                raise UnreachableError(f"{path}: {response.status}")
            kind = ""
            while line := response.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "events":
                    yield from json.loads(value)
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"{path}: {error!r}") from None
        finally:
            connection.close()

    def _post(self, path: str, body: bytes, content_type: str) -> str:
        status, headers, answer = self._ask("POST", path, body, _headers(content_type))
        if status != http.client.FOUND:
            raise RefusedError(f"{path}: {status} {answer[:500]!r}", status)
        return headers["Location"]

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self._connection()
        try:
            connection.request(method, path, body, {"Accept": "application/json", **headers})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"{path}: {error!r}") from None
        finally:
            connection.close()
        if response.status == http.client.SERVICE_UNAVAILABLE:
            raise UnreachableError(f"{path}: {answer[:200]!r}", response.status)
        return response.status, response.headers, answer

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_SECONDS)


def multipart(name: str, content: bytes) -> tuple[bytes, str]:
    """The body of a form with one file, and its content type."""
    boundary = uuid.uuid4().hex
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return head.encode() + content + f"\r\n--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _headers(content_type: str) -> dict[str, str]:
    return {
        "Accept": "application/json",
        "Content-Type": content_type,
        "Cookie": f"placeto_csrftoken={_TOKEN}",
        "X-CSRFToken": _TOKEN,
    }
