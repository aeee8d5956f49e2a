"""A database with rows that requests can name."""

import json

from django.conf import settings
from django.core.management import call_command

from engine import api
from tests.api_fuzz.requests import Ids
from tests.webapp.api.cast import cast_of
from tests.webapp.graph_files import graphdef
from webapp.accounts.models import ApiToken, TokenScope, User
from webapp.celery import app
from webapp.graphs.models import Graph, PreparedBlob
from webapp.projects.models import Membership, Project


def rows_to_name() -> tuple[Ids, Ids, str]:
    """Make tables and rows; returns the ids of those that have ended, of those that wait, and their owner's token."""
    app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = "memory://"
    settings.NOTICES_URL = f"unix://{settings.DATA_FOLDER}/no-redis.sock"
    call_command("migrate", verbosity=0)
    project = Project.objects.create(name="Fuzzed")
    graph = Graph.objects.create(project=project, name="small.pb", suffix=".pb", status=Graph.READY)
    graph.source_path.parent.mkdir()
    graph.source_path.write_bytes(graphdef())
    blob = api.prepare(graph.source_path, ".pb", lambda *_: None, api.Limits()).to_bytes()
    view = json.dumps(api.PreparedGraph.from_bytes(blob).view())
    PreparedBlob.objects.create(graph=graph, blob=blob, view=view)
    cast = cast_of(graph)
    owner = User.objects.create_user("owner")
    Membership.objects.create(project=project, user=owner, role=Membership.OWNER)
    _, token = ApiToken.make(owner, "fuzzing", TokenScope.ADMIN)
    return cast.ended, cast.waiting, token
