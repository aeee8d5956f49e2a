"""Graphs: where they come from, how far their reading is, and what was read."""

from pathlib import Path
from typing import ClassVar

from django.conf import settings
from django.db import models

from engine import api
from webapp.graphs.graph_options import GraphOptions
from webapp.jobs.job import StagedJob
from webapp.json_field import JsonTextField
from webapp.projects.models import Project

SAVED_MODEL_SUFFIX = ".zip"


class Graph(StagedJob):
    """A graph that was uploaded, or that a worker builds (a sample), then reads, costs and groups.

        queued ──▶ reading ──▶ ready
          ▲           ├──────▶ failed
          └───────────┘

    Owners: queued → reading, reading → ready | failed: the worker that has claimed it. reading → queued, and → failed
    after too many attempts: a reaper.
    """

    READING: ClassVar[str] = "reading"
    READY: ClassVar[str] = "ready"
    WORKING: ClassVar[str] = READING
    TASK: ClassVar[str] = "graphs.read"
    QUEUE: ClassVar[str] = "cpu"

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
    """GraphOptions.to_json(); empty: the usual ones"""
    times_name = models.CharField(max_length=200, default="", blank=True)
    """for people: the name of the file of measured times, empty where there is none"""
    times_bytes = models.BigIntegerField(default=0)
    read_again_from = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="read_again")
    """the graph whose file this one reads with other options"""
    summary = JsonTextField(null=True)
    """what was read (PreparedGraph.summary()); None until it is ready"""

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.name

    @property
    def format(self) -> api.Format:
        """The row of its file's format."""
        return api.FORMATS[self.suffix]

    @property
    def source_path(self) -> Path:
        """The file on this machine. Its name is made of the id alone: no text of a user is ever part of a path."""
        return Path(settings.DATA_FOLDER) / "graphs" / f"{self.id}{self.suffix}"

    @property
    def times_path(self) -> Path:
        """The file of measured times (RunMetadata), beside the first."""
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
        """With which it is read."""
        assert isinstance(self.options, dict)
        return GraphOptions.from_json(self.options)

    @property
    def choices_words(self) -> str:
        """What tells it from other graphs of the same file; empty where everything is as usual."""
        return ", ".join(filter(None, [self.own_options.words, "measured times" if self.has_times else ""]))

    @property
    def signatures(self) -> list[str]:
        """Those that its file offers, as far as it has been read."""
        summary = self.summary if isinstance(self.summary, dict) else {}
        offered = summary.get("signatures") or []
        assert isinstance(offered, list)
        return [str(name) for name in offered]

    @property
    def is_saved_model(self) -> bool:
        """Whether its file is a SavedModel, so that one can be written placed too."""
        return self.suffix == SAVED_MODEL_SUFFIX

    @property
    def lacks_variables(self) -> bool:
        """Whether its file is a SavedModel whose variables are not in it, as far as it has been read."""
        summary = self.summary if isinstance(self.summary, dict) else {}
        return self.is_saved_model and summary.get("variables_stored") is False

    @property
    def is_ready(self) -> bool:
        """Whether runs can be started on it."""
        return self.status == self.READY


class PreparedBlob(models.Model):
    """What a worker made of a graph. In the database, so that a GPU host needs nothing but database and broker."""

    graph = models.OneToOneField(Graph, on_delete=models.CASCADE, primary_key=True, related_name="prepared")
    blob = models.BinaryField()
    """PreparedGraph.to_bytes()"""
    view = models.TextField()
    """PreparedGraph.view() as JSON text: laid out once, sent many times"""

    def __str__(self) -> str:
        return f"prepared {self.graph_id}"
