"""Mistakes of those who call the API, as answers in its one format."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from engine import api
from webapp.form_errors import form_errors, shorten_refused_values
from webapp.http.user_errors import error_answer, not_found, status_of, unavailable
from webapp.option_words import with_fields

NOT_JSON = "The body is no JSON that this server takes; allowed: JSON in UTF-8 without NaN and half characters."
TOO_MANY = "Too many requests; allowed: {:,} a minute. The header Retry-After says when to go on."
LONGEST_FIELD = 60


class RefusedError(Exception):
    """A request that is answered by an error: its status, field → sentences, and further headers."""

    def __init__(
        self, status: HTTPStatus, errors: Mapping[str, Sequence[str]], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, errors)
        self.status, self.errors, self.headers = status, errors, headers or {}


def conflict(sentence: str) -> RefusedError:
    """The row's state does not allow the action."""
    return RefusedError(HTTPStatus.CONFLICT, {"": [sentence]})


def refused(form: BaseForm, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> RefusedError:
    """The first of the form's errors."""
    shorten_refused_values(form)
    return RefusedError(status, form_errors(form))


def not_json() -> RefusedError:
    """The body cannot be read."""
    return RefusedError(HTTPStatus.BAD_REQUEST, {"": [NOT_JSON]})


def not_as_described(names: Sequence[str], words: str) -> RefusedError:
    """422: a value, found by these names, is of another type than the operation's schema says, or is not in it."""
    field = api.shortened(".".join(names), LONGEST_FIELD)
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, {field: [f"{field or 'The body'}: {words}."]})


def answer_mistakes(server: NinjaAPI) -> None:
    """Give the server our answers in place of its own."""
    server.add_exception_handler(RefusedError, _refusal)
    server.add_exception_handler(Http404, _nothing)
    server.add_exception_handler(ValidationError, _invalid)
    server.add_exception_handler(HttpError, _http_error)
    server.add_exception_handler(api.PlacetoError, _placeto_error)
    server.add_exception_handler(Exception, _other)


def _refusal(request: HttpRequest, refusal: Any) -> HttpResponse:
    answer = error_answer(request, refusal.status, refusal.errors)
    for name, value in refusal.headers.items():
        answer[name] = value
    return answer


def _nothing(request: HttpRequest, error: Any) -> HttpResponse:
    return not_found(request, error)


def _placeto_error(request: HttpRequest, error: Any) -> HttpResponse:
    return error_answer(request, status_of(error), {error.field: [with_fields(str(error))]})


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return _refusal(request, not_json())
    sentence = TOO_MANY if error.status_code == HTTPStatus.TOO_MANY_REQUESTS else error.message
    return error_answer(request, error.status_code, {"": [sentence.format(settings.API_REQUESTS_PER_MINUTE)]})


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    first = error.errors[0]
    names = [str(part) for part in first["loc"][1:]]
    return _refusal(request, not_as_described(names[1:] if names[:1] == ["body"] else names, first["msg"]))


def _other(request: HttpRequest, error: Any) -> HttpResponse:
    """503 where a later try may succeed. Any other error is our own, which Django logs and answers."""
    answer = unavailable(request, error)
    if answer is None:
        raise error
    return answer
