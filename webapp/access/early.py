"""Finds out who sends a request before its body is read: large bodies are for people who may come in."""

import logging
from io import BytesIO

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError, close_old_connections
from django.http import HttpRequest, HttpResponse

from webapp.access.identity import visitor_who_sent
from webapp.accounts_mode import OFF
from webapp.http.body_limit import Scope

log = logging.getLogger(__name__)


async def is_of_somebody(scope: Scope) -> bool:
    """Whether its sender may come in. If the database does not answer, yes: the view will say so."""
    if settings.ACCOUNTS == OFF:
        return True
    return await sync_to_async(_is_known, thread_sensitive=False)(ASGIRequest(scope, BytesIO()))


def _is_known(request: HttpRequest) -> bool:
    close_old_connections()
    try:
        SessionMiddleware(_nothing).process_request(request)
        AuthenticationMiddleware(_nothing).process_request(request)
        return visitor_who_sent(request).is_known
    except DatabaseError:
        log.warning("the database does not answer; the view will say so", exc_info=True)
        return True
    finally:
        close_old_connections()


def _nothing(_request: HttpRequest) -> HttpResponse:
    raise AssertionError("nothing is answered here")
