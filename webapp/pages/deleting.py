"""The page that asks before a deletion: it names and counts what goes with the row."""

from django.db.models import F, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.graphs.models import Graph
from webapp.jobs.deletion import Deletable, count_what_belongs_to


def bytes_of(graphs: QuerySet[Graph]) -> int:
    """The bytes of the files of `graphs`."""
    return int(graphs.aggregate(bytes=Sum(F("file_bytes") + F("times_bytes"), default=0))["bytes"])


def deletion_page(
    request: HttpRequest, row: Deletable, name: str, back: str, note: str = "", files_bytes: int = 0
) -> HttpResponse:
    """Context: row, what (its kind), name, belonging (`12 runs`, …), files_bytes, note, back (its page)."""
    context = {
        "row": row,
        "what": row._meta.verbose_name,
        "name": name,
        "belonging": [_counted(model, count) for model, count in count_what_belongs_to(row).items()],
        "files_bytes": files_bytes,
        "note": note,
        "back": back,
    }
    return render(request, "delete.html", context)


def _counted(model: type[Deletable], count: int) -> str:
    """`12 runs`."""
    return f"{count:,} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural}"
