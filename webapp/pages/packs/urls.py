"""Addresses of packs. Beside the static files, so that whoever lets those through lets packs through too."""

from django.urls import path

from webapp.pages.packs import views

app_name = "packs"
urlpatterns = [
    path("static/packs/<path:entry>.js", views.script, name="script"),
    path("static/packs/<str:names>.css", views.styles, name="styles"),
]
