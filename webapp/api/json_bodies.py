"""Bodies of requests as JSON, strictly: what JSON does not have, or no database stores, is refused."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from django.http import HttpRequest
from ninja.parser import Parser


class StrictJsonParser(Parser):
    """Refuses NaN, infinities, half characters and NUL, which Python's reader lets through."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """The body. Raises ValueError, which becomes a 400 answer."""
        try:
            body: dict[str, Any] = json.loads(request.body.decode("utf-8"), parse_constant=_refuse)
            json.dumps(body, ensure_ascii=False).encode("utf-8")
        except RecursionError:
            raise ValueError("too deep") from None
        _require_printable(body)
        return body


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


def _require_printable(value: Any) -> None:
    """Raise ValueError for a NUL in any text."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and "\0" in each:
            raise ValueError("a text has the character NUL")
        if isinstance(each, Mapping):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each
