"""How an attempt ends when it does not end well. The one place where a worker turns an exception into a row."""

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
    """A user's mistake becomes the job's error; so does a fault of ours, as one neutral sentence with a number.

    A lost claim ends the attempt and nothing else: whoever has the job now, or nobody, answers for it.
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
