"""Addresses of the home page."""

from django.urls import path

from webapp.pages.home import views

app_name = "home"
urlpatterns = [
    path("", views.home, name="page"),
    path("example/", views.example, name="example"),
    path("example/run/", views.run_it_yourself, name="run-example"),
]
