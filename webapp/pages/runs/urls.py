"""Addresses of runs."""

from django.urls import path, register_converter

from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_paths
from webapp.pages.runs import views
from webapp.pages.runs.downloads import DownloadName, download, download_simplest
from webapp.runs.models import Run

register_converter(DownloadName, "download_name")

app_name = "runs"
urlpatterns = [
    path("graphs/<uuid:graph_id>/runs/", views.create, name="create"),
    path("runs/<uuid:run_id>/", views.detail, name="detail"),
    path("runs/<uuid:run_id>/run.json", views.run_json, name="json"),
    *event_paths("runs/", "run_id", lambda job_id: JobEvents(Run, job_id, "run")),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="cancel"),
    path("runs/<uuid:run_id>/rename/", views.rename, name="rename"),
    path("runs/<uuid:run_id>/delete/", views.delete, name="delete"),
    path("runs/<uuid:run_id>/simplest/<download_name:name>", download_simplest, name="download-simplest"),
    path("runs/<uuid:run_id>/<download_name:name>", download, name="download"),
]
