"""The networks that the settings name: made with fresh or given weights, and bound to graphs."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import nn

from engine.placeto.networks.actor import Actor
from engine.placeto.networks.choices import torch_device_of
from engine.placeto.networks.published import PublishedActor, published_network
from engine.placeto.networks.shared_head import SharedHead
from engine.placeto.networks.shared_head_actor import SharedHeadActor, fresh_network, trained_network
from engine.placeto.seeing.features import GroupGraph
from engine.placeto.seeing.start_times import GroupStartTimes, sees_start_times
from engine.placeto.settings import PlacetoSettings
from engine.problem import PlacementProblem


def make_network(
    settings: PlacetoSettings,
    devices: int,
    rng: np.random.Generator,
    weights: Mapping[str, NDArray[np.generic]] | None = None,
) -> nn.Module:
    """The network that `settings` name, with `weights`, else with fresh ones from `rng`.

    A shared head fits any number of devices; the published networks fit `devices` alone. Raises SettingsError if
    `weights` do not fit.
    """
    torch_device = torch_device_of(settings.torch_device)
    if settings.network != "shared_head":
        return published_network(settings, devices, rng, torch_device, weights)
    if weights is None:
        return fresh_network(settings, rng, torch_device)
    return trained_network(settings, weights, torch_device)


def bound_network(
    settings: PlacetoSettings, graph: GroupGraph, network: nn.Module, start_times: GroupStartTimes | None = None
) -> Actor:
    """`network` on `graph`; it may be bound to several graphs, which then share its weights.

    `start_times` are a feature of the published networks; other networks ignore them. Raises SettingsError for a graph
    that is too large for the network.
    """
    torch_device = torch_device_of(settings.torch_device)
    if isinstance(network, SharedHead):
        return SharedHeadActor(settings, graph, network, torch_device)
    return PublishedActor(settings, graph, network, torch_device, start_times)


def make_actor(
    settings: PlacetoSettings,
    graph: GroupGraph,
    rng: np.random.Generator,
    weights: Mapping[str, NDArray[np.generic]] | None = None,
    start_times: GroupStartTimes | None = None,
) -> Actor:
    """The network that `settings` name, made and bound to `graph`."""
    network = make_network(settings, graph.device_count, rng, weights)
    return bound_network(settings, graph, network, start_times)


def start_times_for(settings: PlacetoSettings, problem: PlacementProblem) -> GroupStartTimes | None:
    """The start times, if the network sees them; else None."""
    return GroupStartTimes(problem.simulator) if sees_start_times(settings) else None
