"""The ASGI application: `uvicorn webapp.asgi:application`."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

from webapp.body_limit import BodyLimit
from webapp.pages.graphs.upload_limits import upload_limit_bytes

application = BodyLimit(get_asgi_application(), settings.FORM_LIMIT_BYTES, upload_limit_bytes)
