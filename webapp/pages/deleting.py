"""The page that asks before a deletion: it names and counts what goes with the row."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.jobs.deletion import Deletable, count_what_belongs_to


def deletion_page(
    request: HttpRequest, row: Deletable, name: str, back: str, note: str = "", disk_bytes: int = 0
) -> HttpResponse:
    """Context: row, what (its kind), name, belonging (`12 runs`, …), disk_bytes, note, back (its page)."""
    context = {
        "row": row,
        "what": row._meta.verbose_name,
        "name": name,
        "belonging": [_counted(model, count) for model, count in count_what_belongs_to(row).items()],
        "disk_bytes": disk_bytes,
        "note": note,
        "back": back,
    }
    return render(request, "delete.html", context)


def _counted(model: type[Deletable], count: int) -> str:
    """`12 runs`."""
    return f"{count:,} {model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural}"
