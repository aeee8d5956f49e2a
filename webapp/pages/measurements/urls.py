"""Addresses of measurements."""

from django.urls import path

from webapp.pages.measurements import views

app_name = "measurements"
urlpatterns = [
    path("graphs/<uuid:graph_id>/measure/", views.create, name="create"),
    path("measurements/<uuid:measurement_id>/", views.detail, name="detail"),
    path("measurements/<uuid:measurement_id>/measurement.json", views.report, name="report"),
    path("measurements/<uuid:measurement_id>/cancel/", views.cancel, name="cancel"),
    path("measurements/<uuid:measurement_id>/delete/", views.delete, name="delete"),
]
