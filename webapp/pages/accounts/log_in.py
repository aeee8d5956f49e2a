"""The answer to an address that has tried too often to log in."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

from webapp.http.user_errors import error_answer

WAIT = "Too many log-ins were refused from your address. Try again in a quarter of an hour."


def locked_out(request: HttpRequest, _response: Any = None, _credentials: Any = None) -> HttpResponse:
    """429: the same answer whether the name exists or not."""
    answer = error_answer(request, HTTPStatus.TOO_MANY_REQUESTS, {"": [WAIT]})
    answer["Retry-After"] = str(15 * 60)
    return answer
