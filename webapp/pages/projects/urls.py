"""Addresses of projects."""

from django.urls import path

from webapp.pages.projects import views

app_name = "projects"
urlpatterns = [
    path("projects/", views.project_list, name="list"),
    path("projects/<uuid:project_id>/", views.detail, name="detail"),
    path("projects/<uuid:project_id>/rename/", views.rename, name="rename"),
    path("projects/<uuid:project_id>/delete/", views.delete, name="delete"),
]
