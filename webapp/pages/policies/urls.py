"""Addresses of policies."""

from django.urls import path

from webapp.jobs.stream import JobEvents
from webapp.pages.events import event_paths
from webapp.pages.policies import views
from webapp.policies.models import Policy

app_name = "policies"
urlpatterns = [
    path("policies/", views.policy_list, name="list"),
    path("policies/upload/", views.upload, name="upload"),
    path("policies/train/", views.train, name="train"),
    path("policies/<uuid:policy_id>/", views.detail, name="detail"),
    *event_paths("policies/", "policy_id", lambda job_id: JobEvents(Policy, job_id, "policy")),
    path("policies/<uuid:policy_id>/cancel/", views.cancel, name="cancel"),
    path("policies/<uuid:policy_id>/policy.safetensors", views.download, name="download"),
    path("policies/<uuid:policy_id>/publish/", views.publish, name="publish"),
    path("policies/<uuid:policy_id>/rename/", views.rename, name="rename"),
    path("policies/<uuid:policy_id>/delete/", views.delete, name="delete"),
]
