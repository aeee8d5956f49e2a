"""Graphs: their files, the progress of their reading, and its result."""

from pathlib import Path
from typing import ClassVar

from django.db import models

from engine import api
from webapp.graphs.graph_options import GraphOptions
from webapp.jobs.deletion import DELETED, LIVING
from webapp.jobs.job import StagedJob
from webapp.json_field import JsonTextField
from webapp.projects.models import Project
from webapp.stored_paths import stored_path

SAVED_MODEL_SUFFIX = ".zip"
ONNX_SUFFIX = ".onnx"


class Graph(StagedJob):
    """A graph that was uploaded, or that a worker builds (a sample), then reads, costs and groups.

        asking ──▶ queued ──▶ reading ──▶ ready
                     ▲           ├──────▶ failed
                     └───────────┘

    Owners: asking → queued: the web, once a person has said what the file leaves open. queued → reading, reading →
    ready | failed: the worker that has claimed it. reading → queued, and → failed after too many attempts: a reaper.
    """

    ASKING: ClassVar[str] = "asking"
    READING: ClassVar[str] = "reading"
    READY: ClassVar[str] = "ready"
    WORKING: ClassVar[str] = READING
    QUEUE: ClassVar[str] = "cpu"
    WORK: ClassVar[str] = "webapp.graphs.reading:read_graph"
    OWNER: ClassVar[str] = "project_id"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="graphs")
    name = models.CharField(max_length=200)
    """for people: the uploaded file's name, or the sample's label"""
    suffix = models.CharField(max_length=8)
    """of the format, one of `api.FORMATS`"""
    sample = models.CharField(max_length=64, default="", blank=True)
    """the sample's name, empty for an upload"""
    file_bytes = models.BigIntegerField(default=0)
    content_hash = models.CharField(max_length=64, default="", blank=True)
    """SHA-256 of the file, empty until there is one"""
    options = JsonTextField(default=dict)
    """GraphOptions.to_json(); empty: the defaults"""
    times_name = models.CharField(max_length=200, default="", blank=True)
    """for people: the name of the file of measured times, empty without one"""
    times_bytes = models.BigIntegerField(default=0)
    read_again_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="read_again")
    """the graph whose file this one also reads, with other options"""
    summary = JsonTextField(null=True)
    """PreparedGraph.summary(); None until it is ready; while it asks, {"asked": what the file leaves open}"""
    op_count = models.BigIntegerField(null=True)
    """the summary's number of ops, for lists, which do not load the summary"""
    group_count = models.BigIntegerField(null=True)

    class Meta:
        ordering = ("-created_at",)
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["project", "-created_at"], condition=LIVING, name="newest_graphs_of_project"),
            models.Index(fields=["status", "-created_at"], condition=LIVING, name="newest_graphs_by_status"),
            models.Index(fields=["status", "heartbeat_at"], condition=LIVING, name="graph_heartbeats"),
            models.Index(fields=["deleted_at"], condition=DELETED, name="deleted_graphs"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def format(self) -> api.Format:
        """The format of its file; of an archive, once it is read, that of the graph in it."""
        found = self.summary.get("format") if isinstance(self.summary, dict) else None
        return api.FORMATS[ONNX_SUFFIX if found == ONNX_SUFFIX else self.suffix]

    @property
    def source_path(self) -> Path:
        """The file on this machine. Its name is the id: no user's text is ever part of a path. Raises GraphError."""
        return stored_path("graphs", f"{self.id}{self.suffix}")

    @property
    def times_path(self) -> Path:
        """The file of measured times (RunMetadata), beside the graph's."""
        return self.source_path.with_suffix(".times")

    @property
    def paths(self) -> tuple[Path, Path]:
        """All files that may belong to this row."""
        return self.source_path, self.times_path

    @property
    def has_times(self) -> bool:
        """Whether measured times came with it."""
        return bool(self.times_name)

    @property
    def own_options(self) -> GraphOptions:
        """Its options, typed."""
        assert isinstance(self.options, dict)
        return GraphOptions.from_json(self.options)

    @property
    def choices_words(self) -> str:
        """How its options differ from the defaults; empty where none does."""
        return ", ".join(filter(None, [self.own_options.words, "measured times" if self.has_times else ""]))

    @property
    def signatures(self) -> list[str]:
        """The signatures in its file, as far as it has been read."""
        summary = self.summary if isinstance(self.summary, dict) else {}
        offered = summary.get("signatures") or []
        assert isinstance(offered, list)
        return [str(name) for name in offered]

    @property
    def is_saved_model(self) -> bool:
        """Whether its file is a SavedModel, so that a placed SavedModel can be written."""
        return self.suffix == SAVED_MODEL_SUFFIX and not self.is_onnx

    @property
    def is_onnx(self) -> bool:
        """Whether its file is an ONNX model, so that a placed ONNX model and its stages can be written."""
        return self.format is api.FORMATS[ONNX_SUFFIX]

    @property
    def is_recording(self) -> bool:
        """Whether it is a recording of a PyTorch model, so that placements have device maps; False until it is read."""
        return isinstance(self.summary, dict) and self.summary.get("framework") == "torch"

    @property
    def asked(self) -> list[api.OpenInput]:
        """The inputs whose lengths a person is asked for before it is read; empty once it is queued."""
        summary = self.summary if self.status == self.ASKING and isinstance(self.summary, dict) else {}
        rows = summary.get("asked") or []
        assert isinstance(rows, list)
        return [api.OpenInput.from_json(row) for row in rows]

    @property
    def step_time_source(self) -> str:
        """How the step times of its runs are found, in words."""
        summary = self.summary if isinstance(self.summary, dict) else {}
        sources = summary.get("sources")
        counts = sources if isinstance(sources, dict) else {}
        return api.simulated_words({name: count for name, count in counts.items() if isinstance(count, int)})

    @property
    def saved_model_refusal(self) -> str:
        """Why no placed SavedModel can be written of its file, a SavedModel; empty where one can, or is not known."""
        summary = self.summary if isinstance(self.summary, dict) else {}
        if not self.is_saved_model:
            return ""
        if self.own_options.reading.fetches:
            return api.NO_SIGNATURE
        if summary.get("variables_stored") is False:
            return api.NO_VARIABLES
        return str(summary.get("saved_model_refusal", ""))

    @property
    def no_saved_model(self) -> str:
        """A sentence with `saved_model_refusal`; empty where there is none."""
        return f"There is no placed SavedModel: {refusal}." if (refusal := self.saved_model_refusal) else ""

    @property
    def is_ready(self) -> bool:
        """Whether runs can be started on it."""
        return self.status == self.READY


class PreparedBlob(models.Model):
    """The result of reading a graph. In the database, so that a GPU host needs only database and broker."""

    graph = models.OneToOneField(Graph, on_delete=models.CASCADE, primary_key=True, related_name="prepared")
    blob = models.BinaryField()
    """PreparedGraph.to_bytes()"""
    view = models.TextField()
    """PreparedGraph.view() as JSON text"""

    def __str__(self) -> str:
        return f"prepared {self.graph_id}"

    @property
    def value(self) -> api.PreparedGraph:
        return api.PreparedGraph.from_bytes(bytes(self.blob))
