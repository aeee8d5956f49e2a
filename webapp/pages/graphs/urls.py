"""Addresses of graphs."""

from django.urls import path

from webapp.graphs.models import Graph
from webapp.jobs.stream import JobStages
from webapp.pages.events import event_paths
from webapp.pages.graphs import views

app_name = "graphs"
urlpatterns = [
    path("graphs/", views.upload, name="upload-first"),
    path("projects/<uuid:project_id>/graphs/", views.upload, name="upload"),
    path("samples/", views.sample, name="sample-first"),
    path("projects/<uuid:project_id>/samples/", views.sample, name="sample"),
    path("graphs/<uuid:graph_id>/", views.detail, name="detail"),
    path("graphs/<uuid:graph_id>/status.json", views.status, name="status"),
    *event_paths("graphs/", "graph_id", lambda job_id: JobStages(Graph, job_id, "graph")),
    path("graphs/<uuid:graph_id>/view.json", views.view, name="view"),
    path("graphs/<uuid:graph_id>/begin/", views.begin, name="begin"),
    path("graphs/<uuid:graph_id>/again/", views.again, name="again"),
    path("graphs/<uuid:graph_id>/rename/", views.rename, name="rename"),
    path("graphs/<uuid:graph_id>/delete/", views.delete, name="delete"),
]
