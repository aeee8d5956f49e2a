"""Addresses of runs."""

from django.urls import path, register_converter

from webapp.pages.runs import views
from webapp.pages.runs.downloads import DownloadName, download

register_converter(DownloadName, "download_name")

app_name = "runs"
urlpatterns = [
    path("graphs/<uuid:graph_id>/runs/", views.create, name="create"),
    path("runs/<uuid:run_id>/", views.detail, name="detail"),
    path("runs/<uuid:run_id>/run.json", views.run_json, name="json"),
    path("runs/<uuid:run_id>/graph.json", views.graph_json, name="graph"),
    path("runs/<uuid:run_id>/events.json", views.events_json, name="events"),
    path("runs/<uuid:run_id>/events", views.stream, name="stream"),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="cancel"),
    path("runs/<uuid:run_id>/delete/", views.delete, name="delete"),
    path("runs/<uuid:run_id>/<download_name:name>", download, name="download"),
]
