"""The ASGI application: `uvicorn webapp.asgi:application`."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

import django
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler

from webapp.body_limit import DISK_FAULTS, BodyLimit, BodyWithoutSpaceError, Receive
from webapp.pages.graphs.upload_limits import upload_limit_bytes


class SpoolingHandler(ASGIHandler):
    """Spools bodies in the data folder, whose space the operator provides, instead of the system's temporary folder."""

    async def read_body(self, receive: Receive) -> IO[bytes]:
        """The whole body, on the disk if it is large. Raises RequestAborted, BodyWithoutSpaceError."""
        folder = Path(settings.DATA_FOLDER) / "incoming"
        with ExitStack() as stack:
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                body = stack.enter_context(
                    tempfile.SpooledTemporaryFile(settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=str(folder))
                )
                await _copy(receive, body)
            except OSError as error:
                if error.errno in DISK_FAULTS:
                    raise BodyWithoutSpaceError from error
                raise
            stack.pop_all()  # the request closes it
            return body


async def _copy(receive: Receive, body: IO[bytes]) -> None:
    """Write the whole body, and return to its beginning. Raises RequestAborted, OSError."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        body.write(message.get("body", b""))
        more = message.get("more_body", False)
    body.seek(0)


django.setup(set_prefix=False)
application = BodyLimit(SpoolingHandler(), settings.FORM_LIMIT_BYTES, upload_limit_bytes)
