"""Calibrates this machine: calls `engine.api.calibrate`, and writes the cluster to the file that forms read."""

import json
import os
import uuid
from pathlib import Path

from django.conf import settings
from django.db import transaction

from engine import api
from webapp.jobs.engine_work import NO_STAGE, EngineWork, carry_out
from webapp.measuring.models import Calibration


def calibrate_machine(calibration_id: uuid.UUID) -> bool:
    """Claim the calibration and measure; False if it cannot be claimed."""
    return carry_out(Calibration, calibration_id, _calibrate)


def require_place() -> None:
    """Raise SettingsError if the file that the settings name cannot be written."""
    path = Path(settings.MACHINE)
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        what, allowed = f"{path} cannot be written", "a file, in a folder that the worker may write"
        raise api.SettingsError(what, where="PLACETO_MACHINE", allowed=allowed)


def _calibrate(engine_work: EngineWork[Calibration]) -> None:
    require_place()  # before the measurement, which takes a minute
    cluster = api.cluster_to_json(api.calibrate(engine_work.report_progress, pulse=engine_work.pulse))
    path, claim = Path(settings.MACHINE), engine_work.claim
    draft = path.with_name(f".{path.name}.{claim.token}")
    try:
        draft.write_text(json.dumps(cluster, indent=1) + "\n")
        with transaction.atomic():
            claim.end(Calibration.DONE, result=cluster, **NO_STAGE)
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
