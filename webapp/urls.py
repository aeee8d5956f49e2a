"""Addresses."""

from django.urls import include, path

from webapp.pages.health import health
from webapp.pages.states import states

urlpatterns = [
    path("health/", health, name="health"),
    path("states.json", states, name="states"),
    path("", include("webapp.pages.projects.urls")),
    path("", include("webapp.pages.graphs.urls")),
    path("", include("webapp.pages.profiles.urls")),
    path("", include("webapp.pages.policies.urls")),
    path("", include("webapp.pages.runs.urls")),
    path("", include("webapp.pages.comparisons.urls")),
]

handler400 = "webapp.user_errors.bad_request"
handler404 = "webapp.user_errors.not_found"
handler500 = "webapp.user_errors.server_error"
