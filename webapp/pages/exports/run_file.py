"""A run as one HTML file that opens without a server: its page, with what the page asks for inside.

The page is the one that a secret link opens. Its modules, styles and data are in the file; a policy in its head lets it
run these scripts alone, by their digests, and load nothing from anywhere.
"""

import base64
import hashlib
import json
import math
import re
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import Length
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string
from django.utils.html import escape

from engine import api
from webapp.jobs.event_log import texts_in_turn
from webapp.jobs.models import Event
from webapp.pages.explorer.drawings import drawing_of_run
from webapp.pages.explorer.views import costs, ops, stream_blocks
from webapp.pages.packs.packs import classic_script, script_of, sheets_of, style_of
from webapp.pages.runs.page import run_context
from webapp.runs.models import Answer, Run
from webapp.runs.sessions import session_of

MOST_EVENT_BYTES = 8 * 1024**2
"""of the file's events; of a longer run all improvements and evenly spaced episodes are in it"""
MOST_STEP_BYTES = 12 * 1024**2
"""of explained steps: the best placement's is always in it, the baselines' while there is room"""
WORKING = "This run still works; its file can be made once it has ended."
_SHEETS = re.compile(r'<link rel="stylesheet" href="/static/packs/([\w+-]+)\.css\?[^>]*>')
_LINK = re.compile(r"\s*<link [^>]*>")
_SCRIPT = re.compile(r'\s*<script (?:defer )?src="[^"]*"></script>')
_IMAGE = re.compile(r"<img [^>]*>")


def run_file(request: HttpRequest, run: Run) -> str:
    """The file's text. Raises Http404 for a run that works, LimitError for a graph too large to be explained."""
    if not run.has_ended:
        raise Http404(WORKING)
    events = _events(run)
    context = run_context(run)
    run_json = context["run_json"]
    assert isinstance(run_json, dict)
    context["run_json"] = {key: value for key, value in run_json.items() if key not in ("id", "urls", "policy")} | {
        "policy": None
    }
    page = render_to_string("runs/detail.html", {**context, "is_shared": True, "is_file": True}, request)
    return _with_inside(page, {"texts": _texts(run, events), "blobs": _steps(run, events)})


def _with_inside(page: str, data: dict[str, Any]) -> str:
    """The rendered page without addresses, with styles, scripts and data. All its tags are ours: names are escaped."""
    style = style_of(sheets_of("+".join(_SHEETS.findall(page))))
    for tag in (_LINK, _SCRIPT, _IMAGE):
        page = tag.sub("", page)
    theme, answers = classic_script("js/ui/theme.js"), classic_script("js/pages/run-file.js")
    modules = script_of("js/pages/run-page.js")
    scripts = " ".join(_digest(text) for text in (theme, answers, modules))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8">\n  <meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        f'  <style id="__________cytoscape_stylesheet">{style}</style>\n  <script>{theme}</script>'
    )
    inside = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    end = (
        f'<script type="application/json" id="file-data">{inside}</script>\n'
        f"<script>{answers}</script>\n<script>{modules}</script>\n</body>"
    )
    before, _, after = page.partition('<meta charset="utf-8">')
    rest, _, tail = after.rpartition("</body>")
    return f"{before}{head}{rest}{end}{tail}"


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _texts(run: Run, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Address, from the page → the JSON that it gives."""
    request = HttpRequest()  # of a client that takes nothing compressed
    request.method = "GET"
    page = {"events": events, "status": run.status, "last_seq": run.last_seq, "error": run.error}
    return {
        **_batch(request, run),
        "graph.json": json.loads(drawing_of_run(request, run.id).content),
        "ops.json": json.loads(ops(request, run.graph_id).content),
        "costs.json": json.loads(costs(request, run.graph_id).content),
        "events.json": page,
    }


def _batch(request: HttpRequest, run: Run) -> dict[str, Any]:
    """The batch of a run for a stream; nothing where it has none, or one too large to be drawn."""
    if run.stream is None or not Answer.objects.filter(run=run).exists():
        return {}
    try:
        return {"blocks.json": json.loads(stream_blocks(request, run.id).content)}
    except api.LimitError:
        return {}


def _events(run: Run) -> list[dict[str, Any]]:
    """All events, or as many as fit: improvements, and evenly spaced ones of the other episodes."""
    stored = Event.objects.filter(job_id=run.id)
    size = stored.aggregate(count=Count("id"), bytes=Sum(Length("data")))
    every = math.ceil((size["bytes"] or 0) / MOST_EVENT_BYTES) or 1
    kept, best = [], float("inf")
    for index, text in enumerate(texts_in_turn(run.id)):
        event = json.loads(text)
        improves = event["type"] == "episode" and event["feasible"] and event["step_time_us"] < best
        best = event["step_time_us"] if improves else best
        is_last = index == size["count"] - 1
        if event["type"] not in ("episode", "update") or improves or is_last or index % every == 0:
            kept.append(event)
    return kept


def _steps(run: Run, events: list[dict[str, Any]]) -> dict[str, str]:
    """Address of an explanation → its bytes, in base64: of the best episode, then of the baselines while they fit.

    Of a stream the answer's comes first: whole batches choose it.
    """
    feasible = [event for event in events if event["type"] == "episode" and event["feasible"]]
    best = min(feasible, key=lambda event: event["step_time_us"], default=None)
    baselines = [event for event in events if event["type"] == "baseline" and event.get("placement")]
    session = session_of(run)
    steps: dict[str, str] = {}
    total = 0
    answers = [
        {"seq": event["seq"], "placement": event["report"]["device_of_group"], "parts": event["report"].get("parts")}
        for event in events
        if event["type"] == "finished" and run.stream is not None and event["report"]["feasible"]
    ]
    for event in [*answers, *([best] if best else []), *baselines]:
        placement = api.SplitPlacement.from_json(event["placement"], event.get("parts"))
        step = api.explanation_to_bytes(session, session.explain(session.by_levels(placement)))
        total += len(step)
        if steps and total > MOST_STEP_BYTES:
            break
        steps[f"explanations/{event['seq']}"] = base64.b64encode(step).decode("ascii")
    return steps
