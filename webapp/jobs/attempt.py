"""Turns a worker's exceptions into a failed job, here and nowhere else."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError

from engine import api
from webapp.jobs.claim import Claim, ClaimLostError

log = logging.getLogger(__name__)


@contextmanager
def attempt(claim: Claim[Any]) -> Iterator[None]:
    """Fail the job with the sentence of a PlacetoError; with a neutral sentence and a number for any other fault.

    A lost claim only ends the attempt: the job is another worker's, or deleted.
    """
    try:
        yield
    except ClaimLostError:
        log.info("%s: no longer ours, nothing stored", claim.job_id)
    except api.PlacetoError as error:
        _fail(claim, str(error))
    except DatabaseError:
        log.exception("%s: the database does not answer; a reaper will give the job back", claim.job_id)
    except Exception:
        number = uuid.uuid4().hex[:8]
        log.exception("%s: error %s", claim.job_id, number)
        _fail(claim, f"Something went wrong on the worker; its log has the details under error {number}.")


def _fail(claim: Claim[Any], sentence: str) -> None:
    try:
        claim.end(claim.model.FAILED, error=sentence)
    except ClaimLostError:
        log.info("%s: no longer ours, nothing stored", claim.job_id)
