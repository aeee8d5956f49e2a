"""Starts profiles, and reads graphs with their times."""

from functools import partial

from django.db import transaction
from django.http import Http404

from webapp.graphs.models import Graph
from webapp.graphs.uploads import read_again
from webapp.jobs.publishing import publish
from webapp.profiles.models import Profile


def start(graph: Graph) -> Profile | None:
    """Queue a profile of `graph`; None if one is queued or running."""
    profile = Profile(graph=graph)
    with transaction.atomic():
        if not Graph.objects.select_for_update().filter(id=graph.id).exists():
            raise Http404("This graph has been deleted meanwhile.")
        if graph.profiles.filter(status__in=(Profile.QUEUED, Profile.RUNNING)).exists():
            return None
        profile.save(force_insert=True)
        transaction.on_commit(partial(publish, Profile, profile.id))
    return profile


def read_with_its_times(profile: Profile) -> Graph:
    """Queue the reading of the graph's file as another graph, with the times of a finished profile."""
    name = f"measured {profile.finished_at:%Y-%m-%d %H:%M}.pb"
    return read_again(profile.graph, profile.graph.own_options, profile.times_path, name)
