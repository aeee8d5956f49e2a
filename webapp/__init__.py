"""The web application: projects, graphs and runs over HTTP, and the workers' tasks."""

from webapp.celery import app as celery_app

__all__ = ["celery_app"]
