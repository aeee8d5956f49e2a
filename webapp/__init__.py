"""The web application: projects, graphs and runs over HTTP, and the tasks that workers run."""

from webapp.celery import app as celery_app

__all__ = ["celery_app"]
