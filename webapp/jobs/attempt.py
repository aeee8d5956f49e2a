"""Turns a worker's exceptions into a failed job, here and nowhere else."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from engine import api
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.reaper import give_back
from webapp.option_words import with_fields

log = logging.getLogger(__name__)

OUT_OF_MEMORY = "It took too much memory; allowed: at most {}: use fewer groups, a smaller batch or another method."


@contextmanager
def attempt(claim: Claim[Any]) -> Iterator[None]:
    """Fail the job with the sentence of a PlacetoError; with a neutral sentence and a number for any other fault.

    A lost claim only ends the attempt: the job is another worker's, or deleted. A stop of the worker is no failure:
    the exit goes on, and the worker or a reaper gives the job back. Nor is it one if somebody kills the process that
    does the work: the job is tried again.
    """
    try:
        yield
    except Exception as error:
        if is_stop(error):
            log.info("%s: the worker stops; the job is given back", claim.job_id)
            raise SystemExit from error
        _answer_for(claim, error)


def is_stop(error: BaseException) -> bool:
    """Whether a stop of this process is behind `error`.

    The signal's handler raises SystemExit wherever the process is; in compiled code that becomes a SystemError.
    """
    seen: set[int] = set()
    behind: BaseException | None = error
    while behind is not None and id(behind) not in seen:
        if isinstance(behind, SystemExit | KeyboardInterrupt):
            return True
        seen.add(id(behind))
        behind = behind.__cause__ or behind.__context__
    return False


def _answer_for(claim: Claim[Any], error: Exception) -> None:
    if isinstance(error, ClaimLostError):
        log.info("%s: no longer ours, nothing stored", claim.job_id)
    elif isinstance(error, api.ChildKilledError):
        log.warning("%s: %s", claim.job_id, error)
        give_back(claim, crashed=True)
    elif isinstance(error, api.PlacetoError):
        _fail(claim, with_fields(str(error)))
    elif api.is_out_of_memory(error):
        log.exception("%s: memory ran out", claim.job_id)
        _fail(claim, OUT_OF_MEMORY.format(api.bytes_words(settings.RUN_MEMORY_BYTES)))
    elif isinstance(error, DatabaseError):
        log.exception("%s: the database does not answer; a reaper will give the job back", claim.job_id)
    else:
        number = uuid.uuid4().hex[:8]
        log.exception("%s: error %s", claim.job_id, number)
        _fail(claim, f"Something went wrong on the worker; its log has the details under error {number}.")


def _fail(claim: Claim[Any], sentence: str) -> None:
    try:
        claim.end(claim.model.FAILED, error=sentence)
    except ClaimLostError:
        log.info("%s: no longer ours, nothing stored", claim.job_id)
