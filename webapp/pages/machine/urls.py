"""Addresses of this machine."""

from django.urls import path

from webapp.pages.machine import views

app_name = "machine"
urlpatterns = [
    path("machine/", views.detail, name="page"),
    path("calibrations/", views.create, name="calibrate"),
    path("calibrations/<uuid:calibration_id>/cancel/", views.cancel, name="cancel"),
]
