"""Addresses of comparisons."""

from django.urls import path

from webapp.comparisons.state import ComparisonEvents
from webapp.pages.comparisons import views
from webapp.pages.events import event_paths

app_name = "comparisons"
urlpatterns = [
    path("graphs/<uuid:graph_id>/compare/", views.create, name="create"),
    path("comparisons/<uuid:comparison_id>/", views.detail, name="detail"),
    path("comparisons/<uuid:comparison_id>/state.json", views.state, name="state"),
    *event_paths("comparisons/", "comparison_id", ComparisonEvents),
    path("comparisons/<uuid:comparison_id>/table.html", views.table_part, name="table-part"),
    path("comparisons/<uuid:comparison_id>/cancel/", views.cancel, name="cancel"),
    path("comparisons/<uuid:comparison_id>/rename/", views.rename, name="rename"),
    path("comparisons/<uuid:comparison_id>/delete/", views.delete, name="delete"),
    path("comparisons/<uuid:comparison_id>/comparison.md", views.table, name="table"),
    path("comparisons/<uuid:comparison_id>/comparison.json", views.report, name="report"),
    path("comparisons/<uuid:comparison_id>/comparison.svg", views.figure, {"suffix": ".svg"}, name="figure-svg"),
    path("comparisons/<uuid:comparison_id>/comparison.png", views.figure, {"suffix": ".png"}, name="figure-png"),
]
