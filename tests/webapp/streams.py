"""Streams of server-sent events as a browser opens them and takes them apart."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Message:
    """One server-sent message."""

    event: str = ""
    id: str = ""
    data: str = ""
    comment: str = ""

    @property
    def seqs(self) -> list[int]:
        """Numbers of the events in it."""
        return [event["seq"] for event in json.loads(self.data)]


def messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    """As a browser takes a stream apart."""
    message = Message()
    while line := response.readline():
        text = line.decode().removesuffix("\n")
        name, _, value = text.partition(": ")
        if not text:
            yield message
            message = Message()
        elif name in ("event", "id", "data"):
            setattr(message, name, value)
        else:
            message.comment = text


def open_stream(port: int, path: str, last_event_id: str = "") -> http.client.HTTPResponse:
    """Connect as EventSource does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_event_id} if last_event_id else {})
    connection.request("GET", path, headers=headers)
    return connection.getresponse()
