"""Address of the help page."""

from django.urls import path

from webapp.pages.help import views

app_name = "help"
urlpatterns = [path("help/", views.help_page, name="page")]
