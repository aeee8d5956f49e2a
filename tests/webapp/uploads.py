"""The upload form, sent by a test."""

from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from webapp.graphs.models import Graph
from webapp.projects.models import Project


def upload(client: Client, project: Project, name: str, content: bytes, **headers: str) -> Any:
    """Send the form."""
    file = SimpleUploadedFile(name, content)
    return client.post(f"/projects/{project.id}/graphs/", {"file": file}, headers=headers)


def nothing_left(data_folder: Path) -> bool:
    """No file and no row."""
    files = [path for path in data_folder.rglob("*") if path.is_file()]
    return not files and not Graph.objects.exists()
