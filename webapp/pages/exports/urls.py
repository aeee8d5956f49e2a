"""Addresses of exports."""

from django.urls import path

from webapp.pages.exports import views

app_name = "exports"
urlpatterns = [
    path("runs/<uuid:run_id>/exports/run/run.html", views.html_file, name="html"),
    path("runs/<uuid:run_id>/exports/run/<str:name>", views.of_run, name="run"),
    path("runs/<uuid:run_id>/exports/<str:name>", views.of_placement, name="placement"),
]
