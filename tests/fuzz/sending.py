"""Sends one request to the application, and says what came back and after how long."""

import http.client
import json
import time
import urllib.parse
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

TOKEN = "f" * 32
"""any text of this length, in the cookie and in the header, passes the check of forms"""
LONGEST_SECONDS = 60.0
"""after which the sender gives up; the promise is shorter"""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the application."""

    status: int
    """0 where none came"""
    seconds: float
    location: str
    body: bytes
    retry_after: str = ""

    def sentences(self) -> list[str]:
        """The sentences of a refusal. Raises ValueError, KeyError for a body that is no list of errors."""
        return [sentence for group in json.loads(self.body)["errors"].values() for sentence in group]


def ask(port: int, method: str, path: str, body: bytes = b"", content_type: str = "", page: bool = False) -> Answer:
    """Send a request; `page`: as a browser, else as a script."""
    headers = {"Accept": "text/html" if page else "application/json"}
    if method == "POST":
        headers |= {"Cookie": f"placeto_csrftoken={TOKEN}", "X-CSRFToken": TOKEN, "Content-Type": content_type}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_SECONDS)
    began = time.monotonic()
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, time.monotonic() - began, "", repr(error).encode())
    finally:
        connection.close()
    found = response.headers
    seconds = time.monotonic() - began
    return Answer(response.status, seconds, found.get("Location", ""), content, found.get("Retry-After", ""))


def send_form(port: int, path: str, fields: Mapping[str, str], page: bool = False) -> Answer:
    """Send a form without files."""
    body = urllib.parse.urlencode(fields, errors="replace").encode()
    return ask(port, "POST", path, body, "application/x-www-form-urlencoded", page)


def send_files(port: int, path: str, files: Mapping[str, tuple[str, bytes]], fields: Mapping[str, str]) -> Answer:
    """Send a form with files: field → (file name, content)."""
    boundary = uuid.uuid4().hex
    parts = []
    for name, (file_name, content) in files.items():
        quoted = file_name.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "").replace("\n", "")
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{quoted}"\r\n\r\n'
        parts.append(head.encode("utf-8", "replace") + content + b"\r\n")
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        parts.append(head.encode("utf-8", "replace"))
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return ask(port, "POST", path, body, f"multipart/form-data; boundary={boundary}")
