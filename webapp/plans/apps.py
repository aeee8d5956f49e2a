"""Searches for plans: replicas, pipelines and placements together, for a batch on a cluster."""

from django.apps import AppConfig


class PlansConfig(AppConfig):
    """The app `plans`."""

    name = "webapp.plans"
    label = "plans"
