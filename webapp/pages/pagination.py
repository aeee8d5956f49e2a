"""Long lists in pages, searched and sorted by the address: `?page=2&search=inception&sort=oldest`.

A second list on a page has names of its own: `?graphs=2&graphs-search=…&graphs-sort=…`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import InvalidPage, Page, Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest

ROWS_A_PAGE = 50
MOST_WORDS = 8
LONGEST_SEARCH = 200

NEWEST, OLDEST = "newest", "oldest"
Sorts = Mapping[str, tuple[str, tuple[Any, ...]]]
"""name in the address → (label, columns to order by); the first one is the default"""
BY_AGE: dict[str, tuple[str, tuple[Any, ...]]] = {
    NEWEST: ("Newest first", ("-created_at",)),
    OLDEST: ("Oldest first", ("created_at",)),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a visitor asks of a list. `includes/list_form.html` and `includes/pagination.html` show it."""

    page_field: str
    search_field: str
    sort_field: str
    search: str
    sort: str
    sorts: Sorts

    @property
    def words(self) -> list[str]:
        """The words to search for; all must be found."""
        return self.search.split()[:MOST_WORDS]

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns to order by."""
        return self.sorts[self.sort][1]

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(name, label) of each order."""
        return [(name, label) for name, (label, _) in self.sorts.items()]

    @property
    def is_plain(self) -> bool:
        """Whether the list is whole and in its usual order."""
        return not self.search and self.sort == next(iter(self.sorts))

    @property
    def query(self) -> str:
        """Search and order for the address of another page: empty, or ending in `&`."""
        usual = next(iter(self.sorts))
        given = {self.search_field: self.search, self.sort_field: "" if self.sort == usual else self.sort}
        given = {name: value for name, value in given.items() if value}
        return f"{urlencode(given)}&" if given else ""

    def matching(self, rows: QuerySet[Any, Any], condition: Callable[[str], Q]) -> QuerySet[Any, Any]:
        """The rows that fulfil `condition` for each of the words."""
        for word in self.words:
            rows = rows.filter(condition(word))
        return rows


def asked_of(request: HttpRequest, name: str = "", sorts: Sorts = BY_AGE) -> Asked:
    """What the address asks of the list `name`, empty for the only or the main one. Raises Http404 for no order."""
    prefix = f"{name}-" if name else ""
    sort = request.GET.get(f"{prefix}sort") or next(iter(sorts))
    if sort not in sorts:
        raise Http404("This list has no such order.")
    search = request.GET.get(f"{prefix}search", "").replace("\x00", " ").strip()[:LONGEST_SEARCH]
    return Asked(name or "page", f"{prefix}search", f"{prefix}sort", search, sort, sorts)


class ListPage(Page[Any]):
    """A page of a list that knows what was asked."""

    asked: Asked


def page_of(
    rows: QuerySet[Any, Any], request: HttpRequest, asked: Asked | None = None, count: int | None = None
) -> ListPage:
    """The requested page of `rows`, else the first. Raises Http404 if the list has no such page.

    `rows` are already searched and sorted as `asked`. `count`: the number of all rows, if it can be counted faster than
    in `rows`.
    """
    asked = asked or asked_of(request)
    paginator = Paginator(rows, ROWS_A_PAGE)
    if count is not None:
        paginator.count = count
    try:
        number = paginator.validate_number(request.GET.get(asked.page_field, "1"))
    except InvalidPage:
        raise Http404("This list has no such page.") from None
    begin = (number - 1) * ROWS_A_PAGE
    page = ListPage(rows[begin : begin + ROWS_A_PAGE], number, paginator)
    page.asked = asked
    return page
