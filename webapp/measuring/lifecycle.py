"""Starts profiles, measurements and calibrations, and reads graphs with measured times."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from django.db import transaction
from django.http import Http404

from engine import api
from webapp.graphs.alone import start_alone
from webapp.graphs.models import Graph
from webapp.graphs.uploads import read_again
from webapp.jobs.publishing import publish_soon
from webapp.measuring.candidates import Candidates, run_words
from webapp.measuring.models import Calibration, MeasuredPlacement, Profile, StepMeasurement
from webapp.runs.models import Answer

SEED = 0
"""of the random placements: the same ones for every measurement of a graph on so many devices"""


def start_profile(graph: Graph) -> Profile | None:
    """Queue a profile of `graph`; None if one is queued or running."""
    profile = Profile(graph=graph)
    return profile if start_alone(profile) else None


def read_with_its_times(profile: Profile) -> Graph:
    """Queue the reading of the graph's file as another graph, with the times of a finished profile."""
    name = f"measured {profile.finished_at:%Y-%m-%d %H:%M}.pb"
    return read_again(profile.graph, profile.graph.own_options, profile.times_path, name)


def start_calibration() -> Calibration | None:
    """Queue a calibration; None if one is queued or running."""
    calibration = Calibration()
    with transaction.atomic():
        if Calibration.objects.filter(status__in=(Calibration.QUEUED, Calibration.RUNNING)).exists():
            return None
        calibration.save(force_insert=True)
        transaction.on_commit(partial(publish_soon, Calibration.QUEUE))
    return calibration


def start_measurement(
    graph: Graph, chosen: Candidates, *, one_device: bool, others: int, rounds: int, steps: int
) -> StepMeasurement | None:
    """Queue a measurement of the best placements of the chosen runs; None if the graph has one queued or running.

    Besides, of everything on each device alone if `one_device`, and of so many `others`, drawn at random.
    """
    cluster = api.cluster_to_json(chosen.cluster)
    measurement = StepMeasurement(graph=graph, cluster=cluster, rounds=rounds, steps=steps)
    rows = [*_of_runs(chosen)]
    groups, devices = len(rows[0].placement.device_of_group), chosen.cluster.devices
    if one_device:
        rows += [_row(f"All on {device.name}", [index] * groups) for index, device in enumerate(devices)]
    rng = np.random.default_rng(SEED)
    for number in range(1, others + 1):
        rows.append(_row(f"Random {number}", rng.integers(len(devices), size=groups).tolist()))
    for position, row in enumerate(rows):
        row.measurement, row.position = measurement, position
    started = start_alone(measurement, lambda: MeasuredPlacement.objects.bulk_create(rows))
    return measurement if started else None


def _of_runs(chosen: Candidates) -> Iterator[MeasuredPlacement]:
    answers = Answer.objects.in_bulk([run.id for run in chosen.runs])
    for run in chosen.runs:
        answer = answers.get(run.id)
        if answer is None:
            raise Http404("One of the chosen runs has been deleted meanwhile.")
        yield MeasuredPlacement(
            run=run, words=run_words(run), device_of_group=answer.device_of_group, parts=answer.parts
        )


def _row(words: str, device_of_group: list[int]) -> MeasuredPlacement:
    return MeasuredPlacement(words=words, device_of_group=[*device_of_group])
