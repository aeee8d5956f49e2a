"""Addresses of searches for plans."""

from django.urls import path

from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_paths
from webapp.pages.plans import views
from webapp.plans.models import PlanSearch

app_name = "plans"
urlpatterns = [
    path("graphs/<uuid:graph_id>/plan/", views.create, name="create"),
    path("plans/<uuid:search_id>/", views.detail, name="detail"),
    *event_paths("plans/", "search_id", lambda job_id: JobEvents(PlanSearch, job_id, "search for plans")),
    path("plans/<uuid:search_id>/plan.json", views.report, name="report"),
    path("plans/<uuid:search_id>/open/", views.open_replica, name="open"),
    path("plans/<uuid:search_id>/cancel/", views.cancel, name="cancel"),
    path("plans/<uuid:search_id>/rename/", views.rename, name="rename"),
    path("plans/<uuid:search_id>/delete/", views.delete, name="delete"),
]
