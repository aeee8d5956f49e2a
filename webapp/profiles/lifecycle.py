"""Starts profiles, and reads graphs with their times."""

from webapp.graphs.alone import start_alone
from webapp.graphs.models import Graph
from webapp.graphs.uploads import read_again
from webapp.profiles.models import Profile


def start(graph: Graph) -> Profile | None:
    """Queue a profile of `graph`; None if one is queued or running."""
    profile = Profile(graph=graph)
    return profile if start_alone(profile) else None


def read_with_its_times(profile: Profile) -> Graph:
    """Queue the reading of the graph's file as another graph, with the times of a finished profile."""
    name = f"measured {profile.finished_at:%Y-%m-%d %H:%M}.pb"
    return read_again(profile.graph, profile.graph.own_options, profile.times_path, name)
