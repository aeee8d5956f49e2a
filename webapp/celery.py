"""The Celery application. A GPU host runs `celery -A webapp worker -Q gpu`, nothing else."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

from celery import Celery
from celery.signals import celeryd_after_setup, setup_logging
from django.conf import settings

from webapp import logs
from webapp.jobs import careful_transport

careful_transport.install()
app = Celery("webapp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_finalize.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _install_worker_hooks(sender: Celery, **_: object) -> None:
    from webapp.jobs import worker_hooks  # needs Django's apps, which this module comes before

    worker_hooks.install(sender)


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _leave_logging_to_django(**_: object) -> None:
    """A connected receiver is enough: Celery then leaves logging to LOGGING in the settings."""


@celeryd_after_setup.connect  # type: ignore[untyped-decorator]  # Celery is untyped
def _print_no_banner(instance: Any, **_: object) -> None:
    """Celery's banner is no record: it would stand between lines of JSON."""
    instance.quiet = instance.quiet or settings.LOG_FORMAT == logs.JSON
