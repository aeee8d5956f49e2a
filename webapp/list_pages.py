"""Lists that may be long, in pages: `?page=` of their address."""

from typing import Any

from django.core.paginator import InvalidPage, Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

ROWS_A_PAGE = 50


def page_of(rows: QuerySet[Any, Any], request: HttpRequest) -> Page[Any]:
    """The page of `rows` that was asked for, else the first; raises Http404 where there is none such.

    `includes/list_pages.html` leads to the others.
    """
    try:
        return Paginator(rows, ROWS_A_PAGE).page(request.GET.get("page", "1"))
    except InvalidPage:
        raise Http404("This list has no such page.") from None
