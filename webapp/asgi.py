"""The ASGI application; `webapp.supervisor.parts.web_command` starts it."""

import asyncio
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

import django
from django.conf import settings
from django.db import connection, connections

from webapp.http.body_limit import BodyLimit, Scope, Send
from webapp.http.body_pace import Receive
from webapp.http.handler import PooledHandler
from webapp.jobs.background import send_in_background
from webapp.pages.graphs.upload_limits import limit_of_request
from webapp.temporary_files import use_own_folder

KEEP_CONNECTIONS_SECONDS = 60
"""for which a thread keeps its connection to the database; each request checks that it still works"""
LOCK_SECONDS = 5
"""the longest wait for SQLite's lock; a user then gets 503 and a sentence, while a worker waits longer"""

django.setup(set_prefix=False)
connections.settings["default"] |= {"CONN_MAX_AGE": KEEP_CONNECTIONS_SECONDS, "CONN_HEALTH_CHECKS": True}
if connection.vendor == "sqlite":
    connections.settings["default"]["OPTIONS"] |= {"timeout": LOCK_SECONDS}
answers = BodyLimit(PooledHandler(), settings.FORM_LIMIT_BYTES, limit_of_request)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request; or prepare this process, when the server begins."""
    if scope["type"] != "lifespan":
        await answers(scope, receive, send)
        return
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await asyncio.to_thread(_prepare_process)
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _prepare_process() -> None:
    from webapp.accounts import set_up
    from webapp.policies import default_policy  # needs Django's apps, which are set up below the imports

    use_own_folder()
    send_in_background()
    default_policy.keep_up_to_date()
    set_up.announce()
