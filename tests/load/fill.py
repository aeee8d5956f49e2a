"""Fills an empty database with many projects, graphs, runs and events, for the tables of load.

    PLACETO_DATA=/somewhere/new python -m tests.load.fill [--runs 10000] [--events 3000000] ...

It migrates the database that PLACETO_DATA or DATABASE_URL names, and refuses one that has a project. One project has
40 % of the runs, most of them on one graph; another has a fifth of the graphs; one run has a third of the events,
another 20,000. All runs have ended.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

SEED = 16
OPS, CHAIN, TYPES = 2000, 7, 400
GROUPS = 128
ROWS_A_STATEMENT = 500
EVENTS_A_TRANSACTION = 20_000
RUNS_A_COMPARISON = 12
LONG_RUN_EVENTS = 20_000
METHODS = ("placeto", "local_search", "brkga", "random")
INSERT_EVENTS = "INSERT INTO jobs_event (job_id, seq, type, data) VALUES (%s, %s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of rows of each kind."""

    projects: int = 1000
    graphs: int = 1000
    runs: int = 10_000
    policies: int = 300
    events: int = 3_000_000
    users: int = 50


def fill(counts: Counts) -> None:
    """Store the rows, each kind in a few transactions."""
    rng = random.Random(SEED)
    projects = _projects(counts)
    _users(counts, projects)
    graphs = _graphs(counts, projects)
    _policies(counts)
    runs = _runs(counts, graphs, rng)
    _comparisons(runs)
    _answers(runs)
    _events(counts, runs, rng)


def _projects(counts: Counts) -> list[Any]:
    from webapp.projects.models import Project

    rows = [Project(name=f"Project {number}") for number in range(counts.projects)]
    return Project.objects.bulk_create(rows, batch_size=ROWS_A_STATEMENT)


def _users(counts: Counts, projects: list[Any]) -> None:
    """Each owns as many projects, one after the other; the first one those that have most in them."""
    from webapp.accounts.models import User
    from webapp.projects.models import Membership

    users = User.objects.bulk_create([User(username=f"user-{number}") for number in range(counts.users)])
    share = max(1, len(projects) // max(1, len(users)))
    owned = (
        (users[number // share], project) for number, project in enumerate(projects) if number // share < len(users)
    )
    rows = [Membership(user=user, project=project, role=Membership.OWNER) for user, project in owned]
    Membership.objects.bulk_create(rows, batch_size=ROWS_A_STATEMENT)


def _graphs(counts: Counts, projects: list[Any]) -> list[Any]:
    """A fifth of them in the second project, ten in the first; the others one by one in the rest."""
    from webapp.graphs.graph_options import GraphOptions
    from webapp.graphs.models import Graph, PreparedBlob
    from webapp.json_field import to_text

    file, prepared = _read()
    rows = []
    for number in range(counts.graphs):
        place = 0 if number < 10 else 1 if number < 10 + counts.graphs // 5 else number % counts.projects
        graph = Graph(project=projects[place], name=f"graph {number}.json", suffix=".json", status=Graph.READY)
        graph.file_bytes, graph.content_hash = len(file), f"{number:064x}"
        graph.options, graph.summary = GraphOptions().to_json(), prepared.summary()
        graph.op_count, graph.group_count = OPS, GROUPS
        rows.append(graph)
    Graph.objects.bulk_create(rows, batch_size=100)
    blob, view = prepared.to_bytes(), to_text(prepared.view())
    PreparedBlob.objects.bulk_create([PreparedBlob(graph=row, blob=blob, view=view) for row in rows], batch_size=50)
    rows[0].source_path.parent.mkdir(mode=0o700, exist_ok=True)
    for row in rows:
        row.source_path.write_bytes(file)
    return rows


def _read() -> tuple[bytes, Any]:
    """A graph of `OPS` ops as a file, and as the engine reads it."""
    from engine import api

    nodes = [
        {
            "id": f"layer{op // CHAIN}/op{op}",
            "type": f"Type{op % TYPES}",
            "time_us": 10 + op % 5,
            "output_bytes": [1000],
        }
        for op in range(OPS)
    ]
    before = [(op - 1 if op % CHAIN else max(0, op - CHAIN), op) for op in range(1, OPS)]
    edges = [{"source": nodes[source]["id"], "target": nodes[op]["id"], "output": 0} for source, op in before]
    file = json.dumps(
        {"directed": True, "multigraph": False, "graph": {"name": "filled"}, "nodes": nodes, "edges": edges}
    ).encode()
    with tempfile.NamedTemporaryFile(suffix=".json") as stored:
        Path(stored.name).write_bytes(file)
        prepared = api.prepare(Path(stored.name), ".json", lambda *_: None, api.Limits(), groups=GROUPS)
    return file, prepared


def _policies(counts: Counts) -> None:
    from webapp.policies.models import Policy

    rows = [
        Policy(name=f"policy {number}", status=Policy.DONE, digest=f"{number:064x}", file_version=2)
        for number in range(counts.policies)
    ]
    Policy.objects.bulk_create(rows, batch_size=ROWS_A_STATEMENT)


def _runs(counts: Counts, graphs: list[Any], rng: random.Random) -> list[Any]:
    """30 % of them on the first graph, 10 % on the nine others of its project, the rest on the others."""
    from django.utils import timezone

    from engine import api
    from webapp.runs.models import Run

    cluster = api.cluster_to_json(api.parse_cluster("4xK80+CPU"))
    now, rows = timezone.now(), []
    for number in range(counts.runs):
        place = 10 * number // counts.runs
        graph = graphs[0] if place < 3 else rng.choice(graphs[1:10]) if place < 4 else rng.choice(graphs[10:])
        row = Run(
            graph=graph, cluster=cluster, method=METHODS[number % 4], settings={}, evaluations=2000, seed=number % 12
        )
        row.project_id = graph.project_id
        row.status, row.evaluations_used, row.best_step_time_us = Run.DONE, 2000, 1000.0 + number % 97
        row.created_at = row.started_at = row.finished_at = now - timedelta(seconds=60 * (counts.runs - number))
        row.last_seq = _event_count(counts, number)
        rows.append(row)
    created = {row.id: row.created_at for row in rows}
    Run.objects.bulk_create(rows, batch_size=200)
    for row in rows:  # the column's own default is the time of the statement
        row.created_at = created[row.id]
    Run.objects.bulk_update(rows, ["created_at"], batch_size=200)
    return rows


def _event_count(counts: Counts, number: int) -> int:
    """The number of events of a run: a third of all, 20,000, or as many as the others."""
    largest = counts.events // 3
    if number == 0:
        return largest
    long = min(LONG_RUN_EVENTS, counts.events // 10)
    return long if number == 1 else max(1, (counts.events - largest - long) // max(1, counts.runs - 2))


def _comparisons(runs: list[Any]) -> None:
    """Of each hundred runs of one graph the last dozen."""
    from webapp.comparisons.models import ComparedRun, Comparison

    of_graph: dict[Any, list[Any]] = {}
    for run in runs:
        of_graph.setdefault(run.graph_id, []).append(run)
    for members in of_graph.values():
        for first in range(88, len(members) - RUNS_A_COMPARISON, 100):
            chosen = members[first : first + RUNS_A_COMPARISON]
            comparison = Comparison.objects.create(
                graph=chosen[0].graph, cluster=chosen[0].cluster, methods=list(METHODS), seeds=3, evaluations=2000
            )
            Comparison.objects.filter(id=comparison.id).update(created_at=chosen[0].created_at)
            ComparedRun.objects.bulk_create([ComparedRun(comparison=comparison, run=run) for run in chosen])


def _answers(runs: list[Any]) -> None:
    from engine import api
    from webapp.runs.models import Answer, RunSummary

    placement: list[api.Json] = [group % 5 for group in range(GROUPS)]
    listener = api.ComparisonListener().to_json()
    answers = [
        Answer(run=run, step_time_us=run.best_step_time_us, device_of_group=placement, report={}) for run in runs
    ]
    Answer.objects.bulk_create(answers, batch_size=200)
    summaries = [RunSummary(run=run, seq=run.last_seq, content=listener) for run in runs]
    RunSummary.objects.bulk_create(summaries, batch_size=200)


def _events(counts: Counts, runs: list[Any], rng: random.Random) -> None:
    from django.db import connection, transaction

    from webapp.jobs.models import Event

    prepare = Event._meta.get_field("job_id").get_db_prep_value
    rows = _event_rows(counts, runs, rng, prepare, connection)
    while batch := list(islice(rows, EVENTS_A_TRANSACTION)):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(INSERT_EVENTS, batch)


def _event_rows(
    counts: Counts, runs: list[Any], rng: random.Random, prepare: Any, connection: Any
) -> Iterator[tuple[Any, int, str, str]]:
    placements = [json.dumps([rng.randrange(5) for _ in range(GROUPS)], separators=(",", ":")) for _ in range(64)]
    for number, run in enumerate(runs):
        job_id, best = prepare(run.id, connection), 2000.0
        last = _event_count(counts, number)
        for seq in range(1, last + 1):
            step_time_us = 1000.0 + rng.random() * 100_000.0 / (seq + 100)
            best = min(best, step_time_us)
            kind, data = _event(seq, last, step_time_us, best, placements[seq % 64])
            yield job_id, seq, kind, data


def _event(seq: int, last: int, step_time_us: float, best: float, placement: str) -> tuple[str, str]:
    head = f'{{"seq":{seq},"type":'
    if seq == 1:
        devices = '["/device:GPU:0","/device:GPU:1","/device:GPU:2","/device:GPU:3","/device:CPU:0"]'
        rest = f'"method":"placeto","settings":{{}},"seed":0,"evaluations":{last},"groups":{GROUPS},"devices":{devices}'
        return "started", f'{head}"started","version":1,{rest},"lower_bound_us":900.0,"engine_version":"0.2.0"}}'
    if seq == 2:
        rest = '"method":"single_device","step_time_us":2000.0,"mean_step_time_us":2000.0,"evaluations":1,"note":""'
        return "baseline", f'{head}"baseline","version":1,{rest},"placement":null}}'
    if seq == last:
        return "finished", f'{head}"finished","version":1,"report":{{"step_time_us":{best:.3f},"feasible":true}}}}'
    rest = f'"episode":{seq - 2},"step_time_us":{step_time_us:.3f},"feasible":true,"best_step_time_us":{best:.3f}'
    used = f'"evaluations":{seq - 2},"elapsed_seconds":{seq / 100:.2f},"placement":{placement}'
    return "episode", f'{head}"episode","version":1,{rest},{used}}}'


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("projects", 1000), ("graphs", 1000), ("runs", 10_000), ("policies", 300), ("users", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--events", type=int, default=3_000_000)
    counts = Counts(**vars(parser.parse_args()))
    django.setup()
    from django.core.management import call_command

    from webapp.projects.models import Project

    call_command("migrate", verbosity=0)
    if Project.objects.exists():
        print("This database has projects; name a new one by PLACETO_DATA or DATABASE_URL.", file=sys.stderr)
        return 2
    began = time.monotonic()
    fill(counts)
    print(f"{counts} in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
