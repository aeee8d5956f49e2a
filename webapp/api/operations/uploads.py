"""Uploads in parts: begin, send parts, make a graph of the whole, delete."""

import uuid
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Status
from pydantic import BaseModel, Field

from engine import api
from webapp.api.answers import ACCEPTED, CREATED, NOTHING, begun, out_of
from webapp.api.form_schemas import FormBody, data_of, fields_of, filled, given_fields, multipart_of
from webapp.api.once import makes_once
from webapp.api.operations.graphs import GraphOut, graph_out
from webapp.api.refusals import RefusedError, conflict, refused
from webapp.api.routing import ApiRouter
from webapp.form_errors import add_to_form
from webapp.graphs.forms import OptionsForm
from webapp.http.user_errors import row_or_404, status_of
from webapp.jobs import deletion
from webapp.pages.projects.page import project_or_404
from webapp.uploads import receiving
from webapp.uploads.forms import PartialUploadForm
from webapp.uploads.models import PartialUpload

router = ApiRouter(tags=["Uploads"])

OFFSET = "Upload-Offset"
LARGEST_OFFSET = 2**63 - 1
NO_OFFSET = f"The header {OFFSET} is missing or no number; allowed: how many bytes have arrived."
WRONG_OFFSET = "{:,} bytes have arrived; allowed: a part that begins there."
NOT_COMPLETE = "{:,} of {:,} bytes have arrived; allowed: a complete file."
UNDER_WAY = "Another request with this upload is working. Send it again in a few seconds."


class UploadOut(BaseModel):
    """An upload in parts."""

    id: uuid.UUID
    project_id: uuid.UUID
    name: str
    bytes: int = Field(description="Of the whole file.")
    offset: int = Field(description="How many have arrived: where the next part begins.")
    part_bytes: int = Field(description="The largest part.")
    sha256: str
    created_at: datetime


class OffsetOut(BaseModel):
    """How far an upload has arrived."""

    offset: int


@fields_of(PartialUploadForm, required=("name", "bytes"))
class UploadBody(FormBody):
    """A file that will arrive in parts."""


@fields_of(OptionsForm)
class UploadOptionsBody(FormBody):
    """How to read the graph."""


PART: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": OFFSET,
            "description": "How many bytes have arrived: where the part begins.",
            "required": True,
            "schema": {"type": "integer", "minimum": 0, "maximum": LARGEST_OFFSET},
        }
    ],
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
}


def upload_out(upload: PartialUpload) -> UploadOut:
    """The upload as an answer."""
    counts = {"bytes": upload.total_bytes, "offset": upload.received_bytes, "part_bytes": receiving.PART_BYTES}
    return out_of(UploadOut, upload, **counts)


@router.post("/projects/{uuid:project_id}/uploads", response={CREATED: UploadOut})
@makes_once
def begin_upload(
    request: HttpRequest, project_id: uuid.UUID, body: UploadBody, response: HttpResponse
) -> Status[UploadOut]:
    """Begin an upload in parts, for a file above 16 MB or a connection that breaks."""
    project = project_or_404(project_id)
    data = filled(PartialUploadForm, body).cleaned_data
    upload = receiving.begin(project, data["name"], data["bytes"], data["sha256"])
    return begun(response, "show_upload", upload.id, upload_out(upload), CREATED)


@router.get("/uploads/{uuid:upload_id}", response=UploadOut)
def show_upload(request: HttpRequest, upload_id: uuid.UUID) -> UploadOut:
    """Show how far an upload has arrived."""
    return upload_out(_upload_or_404(upload_id))


@router.put("/uploads/{uuid:upload_id}", response=OffsetOut, openapi_extra=PART)
def send_part(request: HttpRequest, upload_id: uuid.UUID, response: HttpResponse) -> OffsetOut:
    """Send the next part. A wrong offset is a conflict, whose header `Upload-Offset` has the right one."""
    upload = _upload_or_404(upload_id)
    text = request.headers.get(OFFSET, "")
    if not (text.isascii() and text.isdigit() and len(text) < len(str(LARGEST_OFFSET))):
        raise RefusedError(HTTPStatus.BAD_REQUEST, {OFFSET: [NO_OFFSET]})
    try:
        offset = receiving.receive(upload, int(text), request.read)
    except receiving.WrongOffsetError as error:
        raise _at(error.offset, WRONG_OFFSET.format(error.offset)) from None
    except receiving.PartUnderWayError:
        raise conflict(UNDER_WAY) from None
    response[OFFSET] = str(offset)
    return OffsetOut(offset=offset)


@router.delete("/uploads/{uuid:upload_id}", response={NOTHING: None})
def delete_upload(request: HttpRequest, upload_id: uuid.UUID) -> Status[None]:
    """Give an upload up."""
    deletion.delete(_upload_or_404(upload_id))
    return Status(NOTHING, None)


@router.post(
    "/uploads/{uuid:upload_id}/graph",
    response={ACCEPTED: GraphOut},
    openapi_extra=multipart_of(OptionsForm, schema=UploadOptionsBody),
)
@makes_once
def make_graph_of_upload(request: HttpRequest, upload_id: uuid.UUID, response: HttpResponse) -> Status[GraphOut]:
    """Make a graph of a complete upload for a worker to read; `run_metadata` has its measured times."""
    upload = _upload_or_404(upload_id)
    form = OptionsForm(data_of(OptionsForm(), given_fields(request, UploadOptionsBody)), request.FILES)
    if not form.is_valid():
        raise refused(form)
    try:
        graph = receiving.make_graph(upload, form.options, form.times_file)
    except receiving.WrongOffsetError as error:
        raise _at(error.offset, NOT_COMPLETE.format(error.offset, upload.total_bytes)) from None
    except receiving.PartUnderWayError:
        raise conflict(UNDER_WAY) from None
    except api.PlacetoError as error:
        add_to_form(form, error, "fetches")
        raise refused(form, status_of(error)) from None
    return begun(response, "show_graph", graph.id, graph_out(graph))


def _upload_or_404(upload_id: uuid.UUID) -> PartialUpload:
    return row_or_404(PartialUpload.objects.select_related("project"), upload_id, "upload")


def _at(offset: int, sentence: str) -> RefusedError:
    return RefusedError(HTTPStatus.CONFLICT, {OFFSET: [sentence]}, {OFFSET: str(offset)})
