"""A job that was given back shows nothing of its lost worker's stage."""

import pytest
from django.test import Client

from webapp.graphs.models import Graph
from webapp.jobs.job import StagedJob
from webapp.measuring.models import Profile
from webapp.policies.models import Policy

AT_WORK = {"stage": "Reinforcement learning, 43 %", "stage_done": 3, "stage_total": 7}


@pytest.fixture(params=["graph", "profile", "policy"])
def job(request: pytest.FixtureRequest, graph: Graph) -> StagedJob:
    """One that works."""
    jobs: dict[str, StagedJob] = {"graph": graph, "profile": Profile(graph=graph), "policy": Policy(name="Mine")}
    found = jobs[request.param]
    for column, value in ({"status": found.WORKING} | AT_WORK).items():
        setattr(found, column, value)
    found.save()
    return found


def test_a_stage_is_shown_only_while_it_works(job: StagedJob) -> None:
    assert [job.progress()[name] for name in ("stage", "done", "total")] == list(AT_WORK.values())
    for status in (job.QUEUED, job.FAILED, job.CANCELLED):
        job.status = status
        assert [job.progress()[name] for name in ("stage", "done", "total")] == ["", 0, 0]


def test_the_page_of_a_training_that_is_queued_again_says_that_it_waits(client: Client) -> None:
    policy = Policy.objects.create(name="Mine", **AT_WORK)
    page = client.get(f"/policies/{policy.id}/").content.decode()
    assert str(AT_WORK["stage"]) not in page
    assert "Reinforcement" not in page.partition('id="stage-words"')[0]
    assert "Waiting for a free worker" in page
