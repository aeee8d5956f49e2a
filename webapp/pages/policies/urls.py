"""Addresses of policies."""

from django.urls import path

from webapp.pages.policies import views

app_name = "policies"
urlpatterns = [
    path("policies/", views.policy_list, name="list"),
    path("policies/upload/", views.upload, name="upload"),
    path("policies/train/", views.train, name="train"),
    path("policies/<uuid:policy_id>/", views.detail, name="detail"),
    path("policies/<uuid:policy_id>/events.json", views.events_json, name="events"),
    path("policies/<uuid:policy_id>/events", views.stream, name="stream"),
    path("policies/<uuid:policy_id>/cancel/", views.cancel, name="cancel"),
    path("policies/<uuid:policy_id>/policy.safetensors", views.download, name="download"),
    path("policies/<uuid:policy_id>/delete/", views.delete, name="delete"),
]
