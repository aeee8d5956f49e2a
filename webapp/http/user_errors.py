"""Turns users' mistakes into HTTP answers, here and nowhere else."""

import logging
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from engine import api
from webapp.accounts.quota_error import QuotaError
from webapp.capacity import BusyError
from webapp.form_errors import form_errors, shorten_refused_values
from webapp.http.api_errors import api_error, is_api
from webapp.http.body_limit import DISK_FAULTS, DISK_FULL, RETRY_AFTER_SECONDS
from webapp.http.security_headers import has_secret_address
from webapp.option_words import with_fields

log = logging.getLogger(__name__)

ModelType = TypeVar("ModelType", bound=Model)

Errors = Mapping[str, Sequence[str]]
"""field → sentences; the empty field is for sentences without a field"""


DATABASE_AWAY = "The database does not answer at the moment. Nothing was stored; try again in a few seconds."


def status_of(error: api.PlacetoError) -> HTTPStatus:
    """The HTTP status of a mistake."""
    if isinstance(error, api.LimitError):
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if isinstance(error, QuotaError):
        return HTTPStatus.FORBIDDEN
    return HTTPStatus.BAD_REQUEST


def wants_json(request: HttpRequest) -> bool:
    """Whether the client prefers JSON (a script) to a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def error_answer(request: HttpRequest, status: int, errors: Errors) -> HttpResponse:
    """The sentences as JSON, or as a page of their own, which below a secret link leads to no other page."""
    if is_api(request.path):
        return JsonResponse(api_error(status, errors), status=status)
    if wants_json(request):
        return JsonResponse({"errors": {field: list(sentences) for field, sentences in errors.items()}}, status=status)
    sentences = [sentence for group in errors.values() for sentence in group]
    context = {"status": HTTPStatus(status), "sentences": sentences, "is_shared": has_secret_address(request)}
    return render(request, "error.html", context, status=status)


def row_or_404(rows: QuerySet[ModelType], row_id: uuid.UUID | str, what: str) -> ModelType:
    """The row with that id. Raises Http404, which names its kind `what`, if there is none."""
    try:
        row = rows.filter(pk=uuid.UUID(str(row_id))).first()
    except ValueError:
        row = None
    if row is None:
        raise Http404(f"This {what} does not exist, or it has been deleted.")
    return row


def conflict(request: HttpRequest, sentence: str, page: HttpResponse) -> HttpResponse:
    """The answer when the row's state does not allow the action: 409, or `page` with a notice."""
    if wants_json(request):
        return error_answer(request, HTTPStatus.CONFLICT, {"": [sentence]})
    messages.info(request, sentence)
    return page


def refused_form(
    request: HttpRequest,
    form: BaseForm,
    page: Callable[..., HttpResponse],
    status: HTTPStatus = HTTPStatus.BAD_REQUEST,
) -> HttpResponse:
    """The form's errors: as JSON, or on `page(status=...)`, which shows the form again."""
    shorten_refused_values(form)
    if wants_json(request):
        return error_answer(request, status, form_errors(form))
    return page(status=status)


def unavailable_because(error: Exception) -> str | None:
    """The sentence for an error that passes by itself; None for any other."""
    if isinstance(error, BusyError):
        return str(error)
    if isinstance(error, OSError) and error.errno in DISK_FAULTS:
        return DISK_FULL
    if isinstance(error, OperationalError | InterfaceError):
        return DISK_FULL if "disk is full" in str(error) else DATABASE_AWAY
    return None


def unavailable(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """503 with the time to wait, where a later try may succeed; None for any other error."""
    sentence = unavailable_because(error)
    if sentence is None:
        return None
    log.warning("unavailable: %s", error)
    answer = error_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, {"": [sentence]})
    answer["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer


class UserErrorMiddleware(MiddlewareMixin):
    """Answers an error of the engine that no view has handled, and a database or disk that fails for a while."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """An answer to a PlacetoError; 503 where a later try may succeed; None for any other exception."""
        if isinstance(exception, api.PlacetoError):
            return error_answer(request, status_of(exception), {exception.field: [with_fields(str(exception))]})
        return unavailable(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404."""
    sentence = str(exception.args[0]) if exception.args and isinstance(exception.args[0], str) else ""
    return error_answer(request, HTTPStatus.NOT_FOUND, {"": [sentence or "There is nothing at this address."]})


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400. The exception is for the log."""
    log.warning("bad request: %s", exception)
    return error_answer(request, HTTPStatus.BAD_REQUEST, {"": ["The server cannot understand this request."]})


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500, called while the exception is handled: it may be one of middleware that reads the body."""
    error = sys.exception()
    if isinstance(error, Exception) and (answer := unavailable(request, error)) is not None:
        return answer
    sentence = "Something went wrong on our side. The server's log has the details."
    return error_answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, {"": [sentence]})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW. The reason is for the log."""
    log.warning("CSRF: %s", reason)
    sentence = "The form is too old, or it came from another site. Load the page again and send it once more."
    return error_answer(request, HTTPStatus.FORBIDDEN, {"": [sentence]})
