"""Addresses."""

from django.urls import include, path

from webapp.health import health
from webapp.states import states

urlpatterns = [
    path("health/", health, name="health"),
    path("states.json", states, name="states"),
    path("", include("webapp.projects.urls")),
    path("", include("webapp.graphs.urls")),
    path("", include("webapp.profiles.urls")),
    path("", include("webapp.policies.urls")),
    path("", include("webapp.runs.urls")),
    path("", include("webapp.comparisons.urls")),
]

handler400 = "webapp.user_errors.bad_request"
handler404 = "webapp.user_errors.not_found"
handler500 = "webapp.user_errors.server_error"
