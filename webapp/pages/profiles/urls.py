"""Addresses of profiles."""

from django.urls import path

from webapp.pages.profiles import views

app_name = "profiles"
urlpatterns = [
    path("graphs/<uuid:graph_id>/profiles/", views.create, name="create"),
    path("profiles/<uuid:profile_id>/run_metadata.pb", views.download, name="download"),
    path("profiles/<uuid:profile_id>/cancel/", views.cancel, name="cancel"),
    path("profiles/<uuid:profile_id>/use/", views.use, name="use"),
]
