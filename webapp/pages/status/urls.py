"""Addresses of the status page and of the metrics."""

from django.urls import path

from webapp.pages.status import views

app_name = "status"
urlpatterns = [
    path("status/", views.status, name="page"),
    path("metrics", views.metrics, name="metrics"),
]
