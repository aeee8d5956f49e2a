"""Graphs: upload, sample, page, progress, view, delete."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from engine import api
from webapp.access.marks import needs
from webapp.form_errors import add_to_form
from webapp.graphs.forms import AgainForm, BeginForm, SampleForm, UploadForm
from webapp.graphs.incoming import IncomingFile
from webapp.graphs.models import Graph
from webapp.graphs.prepared import view_text_of
from webapp.graphs.readings import delete_with_readings, is_in_use, newest_reading
from webapp.graphs.uploads import accept_sample, accept_upload, begin_reading, read_again
from webapp.http.user_errors import conflict, refused_form, status_of
from webapp.pages.deleting import deletion_page
from webapp.pages.disk_bytes import of_all
from webapp.pages.graphs.page import graph_or_404, graph_page
from webapp.pages.home.page import home_page
from webapp.pages.projects.page import project_or_404, project_page
from webapp.pages.renaming import rename as rename_row
from webapp.projects.access import Role
from webapp.projects.first_project import project_for_uploads

ASKS_NO_MORE = "This graph asks nothing any more: its reading has begun."


@require_POST
def upload(request: HttpRequest, project_id: uuid.UUID | None = None) -> HttpResponse:
    """Store a file as a graph for a worker to read, in the project for uploads if the address names none."""
    form = UploadForm(request.POST, request.FILES)
    if project_id is None:
        project = project_for_uploads()
        page = partial(home_page, request, upload_form=form)
    else:
        project = project_or_404(project_id)
        page = partial(project_page, request, project, upload_form=form)
    if not form.is_valid():
        return refused_form(request, form, page)
    file = form.cleaned_data["file"]
    assert isinstance(file, IncomingFile)
    try:
        graph = accept_upload(project, file, form.options, form.times_file)
    except api.PlacetoError as error:
        add_to_form(form, error, "file")
        return refused_form(request, form, page, status_of(error))
    return redirect("graphs:detail", graph_id=graph.id)


@require_POST
def begin(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Read a graph that asks, with what a person says, or as it is."""
    graph = graph_or_404(graph_id)
    page = redirect("graphs:detail", graph_id=graph.id)
    form = BeginForm(graph, request.POST)
    if "as_it_is" in request.POST:
        options = graph.own_options
    elif form.is_valid():
        options = form.options
    else:
        return refused_form(request, form, partial(graph_page, request, graph, begin_form=form))
    return page if begin_reading(graph, options) else conflict(request, ASKS_NO_MORE, page)


@require_POST
def again(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Read the same file with other options, in place of its newest reading."""
    graph = graph_or_404(graph_id)
    form = AgainForm(graph, request.POST, request.FILES)
    page = partial(graph_page, request, graph, again_form=form)
    if not form.is_valid():
        return refused_form(request, form, page)
    times_path = graph.times_path if form.cleaned_data.get("keep_times") else None
    try:
        new = read_again(graph, form.options, form.times_file or times_path, graph.times_name)
    except api.PlacetoError as error:
        add_to_form(form, error, "run_metadata")
        return refused_form(request, form, page, status_of(error))
    return redirect("graphs:detail", graph_id=new.id)


@require_POST
def sample(request: HttpRequest, project_id: uuid.UUID | None = None) -> HttpResponse:
    """Make a graph of a sample for a worker to build and read, in the project for uploads if the address names none."""
    form = SampleForm(request.POST)
    if project_id is None:
        project = project_for_uploads()
        page = partial(home_page, request, sample_form=form)
    else:
        project = project_or_404(project_id)
        page = partial(project_page, request, project, sample_form=form)
    if form.is_valid():
        return redirect("graphs:detail", graph_id=accept_sample(project, form.cleaned_data["sample"]).id)
    return refused_form(request, form, page)


@require_safe
def detail(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The page of a graph; of an earlier reading that nothing uses, the page of the newest."""
    graph = graph_or_404(graph_id)
    newest = newest_reading(graph)
    if newest.id != graph.id and not is_in_use(graph):
        return redirect("graphs:detail", graph_id=newest.id)
    return graph_page(request, graph)


@require_safe
@never_cache
def status(request: HttpRequest, graph_id: uuid.UUID) -> JsonResponse:
    """The progress of the reading."""
    return JsonResponse(graph_or_404(graph_id).progress())


@require_safe
def view(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """The grouped graph, laid out."""
    return view_answer(graph_or_404(graph_id))


def view_answer(graph: Graph) -> HttpResponse:
    """The grouped graph as JSON, which never changes. Raises Http404 until the graph has been read."""
    return HttpResponse(
        view_text_of(graph),
        content_type="application/json",
        headers={"Cache-Control": "private, max-age=86400, immutable"},
    )


@require_POST
def rename(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Give it another name."""
    return rename_row(request, graph_or_404(graph_id), redirect("graphs:detail", graph_id=graph_id))


@needs(Role.EDITOR)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, graph_id: uuid.UUID) -> HttpResponse:
    """Ask; a POST deletes it, its file and its runs."""
    graph = graph_or_404(graph_id)
    if request.method != "POST":
        disk_bytes = of_all(Graph.objects.filter(id=graph_id), graph.runs.all(), graph.plan_searches.all())
        back = reverse("graphs:detail", args=[graph_id])
        return deletion_page(request, graph, graph.name, back, disk_bytes=disk_bytes)
    delete_with_readings(graph)
    return redirect("projects:detail", project_id=graph.project_id)
