"""Renames a row: the name's form, and the answer to it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse

from webapp.form_errors import form_errors
from webapp.http.user_errors import error_answer
from webapp.jobs.deletion import Deletable
from webapp.jobs.job import CHANGED, Job

LONGEST_NAME = 200


class NameForm(forms.Form):
    """A new name."""

    name = forms.CharField(label="New name", max_length=LONGEST_NAME)

    def __init__(self, data: Mapping[str, Any] | None = None, *, may_be_empty: bool) -> None:
        super().__init__(data)
        self.fields["name"].required = not may_be_empty


def rename(request: HttpRequest, row: Deletable, page: HttpResponse, *, may_be_empty: bool = False) -> HttpResponse:
    """Give `row` the name that was sent; `page` is the answer. A refused name is a sentence of its own.

    `may_be_empty`: the row has words for itself without a name.
    """
    form = NameForm(request.POST, may_be_empty=may_be_empty)
    if not form.is_valid():
        return error_answer(request, HTTPStatus.BAD_REQUEST, form_errors(form))
    store_name(row, form.cleaned_data["name"])
    return page


def store_name(row: Deletable, name: str) -> None:
    """Store the name of a valid form."""
    changes: dict[str, Any] = {"name": name, **(CHANGED if isinstance(row, Job) else {})}
    type(row).objects.filter(pk=row.pk).update(**changes)
