"""Pages of long lists: `?page=`, or another name on a page with two lists."""

from typing import Any

from django.core.paginator import InvalidPage, Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

ROWS_A_PAGE = 50


def page_of(
    rows: QuerySet[Any, Any], request: HttpRequest, asked_by: str = "page", count: int | None = None
) -> Page[Any]:
    """The requested page of `rows`, else the first. Raises Http404 if the list has no such page.

    `count`: the number of all rows, if it can be counted faster than in `rows`. `includes/pagination.html` shows the
    links to the others.
    """
    paginator = Paginator(rows, ROWS_A_PAGE)
    if count is not None:
        paginator.count = count
    try:
        return paginator.page(request.GET.get(asked_by, "1"))
    except InvalidPage:
        raise Http404("This list has no such page.") from None
