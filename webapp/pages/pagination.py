"""Lists that may be long, in pages: `?page=` of their address, or another name where a page has two lists."""

from typing import Any

from django.core.paginator import InvalidPage, Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

ROWS_A_PAGE = 50


def page_of(rows: QuerySet[Any, Any], request: HttpRequest, asked_by: str = "page") -> Page[Any]:
    """The page of `rows` that was asked for by that name, else the first; raises Http404 where there is none such.

    `includes/pagination.html` leads to the others.
    """
    try:
        return Paginator(rows, ROWS_A_PAGE).page(request.GET.get(asked_by, "1"))
    except InvalidPage:
        raise Http404("This list has no such page.") from None
