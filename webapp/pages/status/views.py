"""The status page, and the metrics behind their token."""

import hmac
from dataclasses import asdict
from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from webapp.access.marks import open_to_anyone, operators_only
from webapp.backups.models import BackupRecord
from webapp.disk_use import disk_use
from webapp.http.user_errors import wants_json
from webapp.pages.status.figures import WorkerLine, failed_jobs, queue_figures, status_counts, worker_lines
from webapp.pages.status.metrics import exposition
from webapp.pages.status.warnings import warnings_of
from webapp.workers.version import database_version


@operators_only
@require_safe
@never_cache
def status(request: HttpRequest) -> HttpResponse:
    """Workers, queues, disk, backup, errors. Context and JSON: the same names."""
    workers = worker_lines()
    queues = queue_figures(workers)
    disk = disk_use()
    backup = BackupRecord.objects.filter(id=1).first()
    found = {
        "version": str(database_version() or ""),
        "warnings": warnings_of(disk, backup, workers, queues),
        "jobs": status_counts(),
    }
    if wants_json(request):
        return JsonResponse(
            found
            | {
                "workers": [_worker_json(line) for line in workers],
                "queues": [queue.to_json() for queue in queues],
                "disk": asdict(disk) | {"used_bytes": disk.used_bytes},
                "backup": None if backup is None else _backup_json(backup),
                "failed": [line.to_json() for line in failed_jobs()],
            }
        )
    parts = {"workers": workers, "queues": queues, "disk": disk, "backup": backup, "failed": failed_jobs()}
    return render(request, "status/page.html", found | parts)


def _worker_json(line: WorkerLine) -> dict[str, object]:
    worker = line.worker
    return {
        "host": worker.host,
        "pid": worker.pid,
        "queues": worker.queues.split(","),
        "version": worker.version,
        "schema": worker.schema,
        "state": line.state,
        "takes_jobs": line.takes_jobs,
        "started_at": worker.started_at,
        "seen_at": worker.seen_at,
        "age_seconds": line.age_seconds,
        "jobs": [job.to_json() for job in line.jobs],
    }


def _backup_json(backup: BackupRecord) -> dict[str, object]:
    return {
        "succeeded_at": backup.succeeded_at,
        "archive_bytes": backup.archive_bytes,
        "failed_at": backup.failed_at,
        "fault": backup.fault,
    }


@open_to_anyone
@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics in Prometheus' text format; 404 without PLACETO_METRICS_TOKEN, 401 without that token."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").encode()
    if not hmac.compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode()):
        answer = HttpResponse("The token is missing or wrong.\n", "text/plain", HTTPStatus.UNAUTHORIZED)
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    return HttpResponse(exposition(), CONTENT_TYPE_LATEST)
