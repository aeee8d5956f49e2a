"""Addresses of kept placements, and of placements by hand on the page of a run."""

import re

from django.urls import path, register_converter

from webapp.pages.placements import views
from webapp.pages.placements.page import DOWNLOADS
from webapp.pages.runs.downloads import DownloadName


class PlacedName(DownloadName):
    """Path converter: one of `DOWNLOADS`."""

    regex = "|".join(map(re.escape, DOWNLOADS))


register_converter(PlacedName, "placed_name")

app_name = "placements"
urlpatterns = [
    path("runs/<uuid:run_id>/placements.json", views.kept, name="kept"),
    path("runs/<uuid:run_id>/placements/", views.keep, name="keep"),
    path("runs/<uuid:run_id>/placements/upload", views.upload, name="upload"),
    path("runs/<uuid:run_id>/go-on/", views.go_on, name="go_on"),
    path("runs/<uuid:run_id>/hand/<placed_name:name>", views.download_by_hand, name="download_by_hand"),
    path("placements/<uuid:placement_id>/placement", views.whole, name="json"),
    path("placements/<uuid:placement_id>/explanation", views.explanation, name="explanation"),
    path("placements/<uuid:placement_id>/rename", views.rename, name="rename"),
    path("placements/<uuid:placement_id>/delete", views.delete, name="delete"),
    path("placements/<uuid:placement_id>/<placed_name:name>", views.download, name="download"),
]
