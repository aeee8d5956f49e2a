"""Deletes rows at once for every reader, and leaves the work to `purging.py`, however many rows and files there are."""

import uuid
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, TypeVar

from django.apps import apps
from django.db import models, transaction
from django.db.models import Manager
from django.db.models.functions import Now

from webapp.jobs.notices import announce

RowType = TypeVar("RowType", bound=models.Model)
LIVING = models.Q(deleted_at=None)
"""the condition of the indexes that lists use"""
DELETED = models.Q(deleted_at__isnull=False)
"""the condition of the index by which a purge finds its rows"""


class LivingManager(Manager[RowType]):
    """The rows that nobody has deleted."""

    def get_queryset(self) -> models.QuerySet[RowType]:
        """All but the deleted ones."""
        return super().get_queryset().filter(LIVING)


class Deletable(models.Model):
    """A row that disappears at once when it is deleted, and is purged in the background.

    `objects`, and every list of related rows, leave deleted rows out. A foreign key still leads to one, but what
    belongs to a deleted row is deleted with it.
    """

    deleted_at = models.DateTimeField(null=True, editable=False)
    """since when it is deleted and waits for its purge; None: it is not"""

    objects = LivingManager()
    all_rows = Manager()  # noqa: DJ012  a manager, not a field
    """the deleted ones too"""

    class Meta:
        abstract = True

    @classmethod
    def watched(cls, _rows: models.QuerySet[Any]) -> list[uuid.UUID]:
        """The ids of the rows that viewers may be waiting for."""
        return []

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files that may belong to this row, on the machine with the data folder."""
        return ()


def delete(row: Deletable) -> None:
    """Delete `row` and what belongs to it; a worker on one of them stores nothing more."""
    with transaction.atomic():
        _mark(type(row), {"pk": row.pk})


def delete_all(rows: models.QuerySet[Any]) -> None:
    """The same for several rows."""
    with transaction.atomic():
        _mark(rows.model, {"pk__in": list(rows.values_list("pk", flat=True))})


def delete_what_belongs_to(model: type[Deletable], ids: list[Any]) -> int:
    """Delete what belongs to rows of `model`; returns how many rows that were."""
    with transaction.atomic():
        return _mark_what_belongs_to(model, {"pk__in": ids})


def count_what_belongs_to(row: Deletable) -> dict[type[Deletable], int]:
    """The rows that would be deleted with `row`: model → how many, for models of which there are some."""
    found: dict[type[Deletable], models.Q] = {}
    _collect(type(row), {"pk": row.pk}, found)
    counts = {model: model.objects.filter(condition).count() for model, condition in found.items()}
    return {model: count for model, count in counts.items() if count}


def _collect(model: type[Deletable], lookups: dict[str, Any], found: dict[type[Deletable], models.Q]) -> None:
    """Note by which condition each model's rows belong to those of `lookups`; the foreign keys lead to one row each."""
    for child, key in _belonging(model):
        through = _through(key, lookups)
        found[child] = found.get(child, models.Q()) | models.Q(**through)
        _collect(child, through, found)


def deletable_models() -> list[type[Deletable]]:
    """Every model whose rows can be deleted; what belongs to a row comes before it."""
    found = [model for model in apps.get_models() if issubclass(model, Deletable)]
    order = TopologicalSorter({model: [child for child, _ in _belonging(model)] for model in found})
    return list(order.static_order())


def _mark(model: type[Deletable], lookups: dict[str, Any]) -> int:
    """Mark the rows before what belongs to them: a request that adds to a row locks it and finds it deleted."""
    rows = model.objects.filter(**lookups)
    announce(*model.watched(rows))
    return rows.update(deleted_at=Now()) + _mark_what_belongs_to(model, lookups)


def _mark_what_belongs_to(model: type[Deletable], lookups: dict[str, Any]) -> int:
    for relation in _relations(model, models.SET_NULL):
        key = relation.field.name
        relation.related_model._base_manager.filter(**_through(key, lookups)).update(**{key: None})
    return sum(_mark(child, _through(key, lookups)) for child, key in _belonging(model))


def _belonging(model: type[Deletable]) -> list[tuple[type[Deletable], str]]:
    """(model, foreign key) of the rows that are deleted with a row of `model`."""
    relations = _relations(model, models.CASCADE)
    found = [(relation.related_model, relation.field.name) for relation in relations]
    return [(child, key) for child, key in found if issubclass(child, Deletable)]


def _relations(model: type[Deletable], on_delete: object) -> list[Any]:
    return [relation for relation in model._meta.related_objects if getattr(relation, "on_delete", None) is on_delete]


def _through(key: str, lookups: dict[str, Any]) -> dict[str, Any]:
    return {f"{key}__{name}": value for name, value in lookups.items()}
