"""Addresses of a project's members."""

from django.urls import path

from webapp.pages.members import views

app_name = "members"
urlpatterns = [
    path("projects/<uuid:project_id>/members/", views.members, name="list"),
    path("projects/<uuid:project_id>/members/<uuid:user_id>/remove/", views.remove, name="remove"),
    path("projects/<uuid:project_id>/members/open/", views.open_to_all, name="open"),
]
