"""The address that says what a form's devices are."""

from django.urls import path

from webapp.pages.devices import views

app_name = "devices"
urlpatterns = [path("devices/described.json", views.described, name="described")]
