"""Measured machines: what a calibration has measured on this one and on those of workers; start and cancel one here."""

import uuid
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from engine import api
from webapp.access.marks import operators_only
from webapp.http.user_errors import conflict, row_or_404
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.measuring import lifecycle
from webapp.measuring.calibrating import require_place
from webapp.measuring.models import Calibration
from webapp.workers.machine_file import MeasuredMachine, own_machine
from webapp.workers.machine_offer import worker_machines

UNDER_WAY = "This machine is already being calibrated."
MOST_LISTED = 5
FIGURES = {
    "measured_over_simulated": "Measured over simulated steps",
    "peak_gflops": "Fastest computation",
    "memory_bandwidth_bytes_per_us": "Memory",
    "efficiency": "Reached by ops",
    "op_slowdown_in_steps": "Ops, slower in training steps",
    "link_slowdown_in_steps": "Transfers, slower in training steps",
    "op_rest_us": "An op beside its work",
    "step_us": "A step beside its ops",
    "joined_step_us": "A step with a transfer",
    "latency_us": "Latency of a transfer",
    "bandwidth_bytes_per_us": "Bandwidth between devices",
    "further_small_transfer_us": "A further small transfer",
    "waiting_share": "Transfers the same way wait",
    "opposite_share": "Transfers the other way wait",
    "overlap_share.sender": "Overlap on the sender",
    "overlap_share.receiver": "Overlap on the receiver",
    "noise": "Noise of the machine",
}
"""name of a figure → its heading, in the order of the page; the others follow under their names"""


@dataclass(frozen=True, slots=True)
class FigureLine:
    """One figure of the page's table."""

    heading: str
    value: str
    low: str
    high: str
    how: str


@dataclass(frozen=True, slots=True)
class MachineLine:
    """A measured machine."""

    host: str
    """empty for this one"""
    fault: str
    """why it is not offered; empty if it is, or if it has not been measured"""
    cluster: api.Cluster | None
    main_figures: list[FigureLine]
    other_figures: list[FigureLine]


@require_safe
@never_cache
def detail(request: HttpRequest) -> HttpResponse:
    """The page. Context: machine and others (MachineLine), place_fault, working (the calibration that is queued or
    works), calibrations (ended ones, the newest first).
    """
    own = own_machine()
    rows = list(Calibration.objects.defer("result")[:MOST_LISTED])
    context = {
        "machine": _machine_line("", own),
        "others": [_machine_line(offer.host, offer.machine) for offer in worker_machines(own)],
        "place_fault": _place_fault(),
        "working": next((row for row in rows if not row.has_ended), None),
        "calibrations": [row for row in rows if row.has_ended],
    }
    return render(request, "machine/page.html", context)


@operators_only
@require_POST
def create(request: HttpRequest) -> HttpResponse:
    """Calibrate this machine."""
    page, fault = redirect("machine:page"), _place_fault() or _busy_fault()
    if fault:
        return conflict(request, fault, page)
    return page if lifecycle.start_calibration() is not None else conflict(request, UNDER_WAY, page)


@operators_only
@require_POST
def cancel(request: HttpRequest, calibration_id: uuid.UUID) -> HttpResponse:
    """Cancel it; the file stays as it was."""
    calibration = row_or_404(Calibration.objects.all(), calibration_id, "calibration")
    page = redirect("machine:page")
    return page if cancel_job(calibration) else conflict(request, "This calibration had already ended.", page)


def _place_fault() -> str:
    """Why there is no place for a calibration; empty if there is one."""
    try:
        require_place()
    except api.SettingsError as error:
        return str(error)
    return ""


def _busy_fault() -> str:
    """Why this is no time for a calibration, on the machine of the web server, where its worker is too."""
    try:
        api.require_idle()
    except api.SettingsError as error:
        return str(error)
    return ""


def _machine_line(host: str, machine: MeasuredMachine) -> MachineLine:
    calibration = machine.cluster.calibration if machine.cluster is not None else None
    figures = dict(calibration.figures) if calibration is not None else {}
    main = [_line(heading, figures[name]) for name, heading in FIGURES.items() if name in figures]
    others = [_line(name, figure) for name, figure in figures.items() if name not in FIGURES]
    return MachineLine(host, machine.fault, machine.cluster, main, others)


def _line(heading: str, figure: api.MeasuredFigure) -> FigureLine:
    value, low, high = map(_number, (figure.value, figure.low, figure.high))
    return FigureLine(heading, value, low, high, figure.how)


def _number(value: float) -> str:
    """Three significant digits."""
    rounded = float(f"{value:.3g}")
    words = f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
    return words.replace("-", "−")
