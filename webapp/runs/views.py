"""Runs: start, page, state, events, stream, cancel, delete."""

import uuid
from http import HTTPStatus

from asgiref.sync import sync_to_async
from django.contrib import messages as notices
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from engine import api
from webapp.graphs.pages import graph_or_404, graph_page
from webapp.graphs.views import view_answer
from webapp.jobs.cancelling import cancel as cancel_job
from webapp.json_text import to_text
from webapp.runs import lifecycle
from webapp.runs.downloads import LACKS_VARIABLES
from webapp.runs.event_log import events_after
from webapp.runs.forms import RunForm
from webapp.runs.models import Run
from webapp.runs.pages import policy_fit, run_or_404, run_to_json
from webapp.runs.stream import messages
from webapp.user_errors import error_answer, form_errors, wants_json

MOST_EVENTS_A_PAGE = 2000
LARGEST_SEQ = 2**63 - 1


@require_POST
def create(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Start a run."""
    graph = graph_or_404(graph_id)
    form = RunForm(request.POST)
    if form.is_valid() and not graph.is_ready:
        form.add_error(None, "This graph has not been read yet; a run can be started once it is ready.")
    if form.is_valid():
        return redirect("runs:detail", run_id=lifecycle.start(graph, form.request, form.policy_row).id)
    if wants_json(request):
        return error_answer(request, HTTPStatus.BAD_REQUEST, form_errors(form))
    return graph_page(request, graph, run_form=form, status=HTTPStatus.BAD_REQUEST)


@require_safe
@never_cache
def detail(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Context: run, graph, project, policy_fit and lacks_variables (in words), run_json (for json_script)."""
    run = run_or_404(run_id)
    context = {
        "run": run,
        "graph": run.graph,
        "project": run.graph.project,
        "policy_fit": policy_fit(run),
        "lacks_variables": LACKS_VARIABLES,
        "run_json": run_to_json(run),
    }
    return render(request, "runs/detail.html", context)


@require_safe
@never_cache
def run_json(request: HttpRequest, run_id: uuid.UUID) -> JsonResponse:
    """The run for scripts."""
    return JsonResponse(run_to_json(run_or_404(run_id)))


@require_safe
def graph_json(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Its grouped graph, laid out."""
    return view_answer(run_or_404(run_id).graph)


@require_safe
@never_cache
def events_json(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """A page of events after number `after`: for replay, and where streams do not get through."""
    after = whole_number("after", request.GET.get("after", "0"), lowest=0, highest=LARGEST_SEQ)
    limit = whole_number("limit", request.GET.get("limit", "500"), lowest=1, highest=MOST_EVENTS_A_PAGE)
    run = run_or_404(run_id)  # before its events: once the status is a last one, the events are all there
    data = ",".join(text for _, text in events_after(run_id, after, limit))
    text = f'{{"events":[{data}],"status":"{run.status}","error":{to_text(run.error)},"last_seq":{run.last_seq}}}'
    return HttpResponse(text, content_type="application/json")


@require_GET
async def stream(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """The events as they come, from after Last-Event-ID (or `after`)."""
    after_text = request.headers.get("Last-Event-ID") or request.GET.get("after", "0")
    after = whole_number("after", after_text, lowest=0, highest=LARGEST_SEQ)
    await sync_to_async(run_or_404)(run_id)
    return StreamingHttpResponse(
        messages(run_id, after),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-store, no-transform", "X-Accel-Buffering": "no"},
    )


@require_POST
def cancel(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Stop it; what it has found so far stays."""
    run = run_or_404(run_id)
    if not cancel_job(run):
        sentence = "This run had already ended."
        if wants_json(request):
            return error_answer(request, HTTPStatus.CONFLICT, {"": [sentence]})
        notices.info(request, sentence)
    return redirect("runs:detail", run_id=run_id)


@require_POST
def delete(request: HttpRequest, run_id: uuid.UUID) -> HttpResponse:
    """Away with it and its events; a worker at it stops at its next look."""
    run = run_or_404(run_id)
    Run.objects.filter(id=run_id).delete()
    return redirect("graphs:detail", graph_id=run.graph_id)


def whole_number(name: str, text: str, *, lowest: int, highest: int) -> int:
    """A number of the address. Raises SettingsError, which becomes a 4xx answer."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(highest)) else -1
    if not lowest <= number <= highest:
        raise api.SettingsError(
            f"{text[:40]!r}", where=name, allowed=f"a whole number from {lowest} to {highest}", field=name
        )
    return number
