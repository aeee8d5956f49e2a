"""Addresses."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from webapp.access.marks import open_to_anyone
from webapp.api.server import patterns
from webapp.pages.health import live, ready
from webapp.pages.states import states

urlpatterns = [
    path("health/", ready, name="health"),
    path("health/ready", ready, name="ready"),
    path("health/live", live, name="live"),
    path("states.json", states, name="states"),
    path("api/v1/", open_to_anyone(RedirectView.as_view(pattern_name="api:openapi-view")), name="api"),
    path("api/v1/", patterns),
    path("", include("webapp.pages.packs.urls")),
    path("", include("webapp.pages.home.urls")),
    path("", include("webapp.pages.projects.urls")),
    path("", include("webapp.pages.accounts.urls")),
    path("", include("webapp.pages.members.urls")),
    path("admin/", admin.site.urls),
    path("", include("webapp.pages.graphs.urls")),
    path("", include("webapp.pages.profiles.urls")),
    path("", include("webapp.pages.machine.urls")),
    path("", include("webapp.pages.devices.urls")),
    path("", include("webapp.pages.measurements.urls")),
    path("", include("webapp.pages.policies.urls")),
    path("", include("webapp.pages.runs.urls")),
    path("", include("webapp.pages.comparisons.urls")),
    path("", include("webapp.pages.plans.urls")),
    path("", include("webapp.pages.explorer.urls")),
    path("", include("webapp.pages.placements.urls")),
    path("", include("webapp.pages.exports.urls")),
    path("", include("webapp.pages.sharing.urls")),
    path("", include("webapp.pages.hooks.urls")),
    path("", include("webapp.pages.status.urls")),
    path("", include("webapp.pages.help.urls")),
    path("", include("webapp.pages.accounts.provider")),
]

handler400 = "webapp.http.user_errors.bad_request"
handler404 = "webapp.http.user_errors.not_found"
handler500 = "webapp.http.user_errors.server_error"
