"""Schemas of requests, made of the fields of Django's forms: a form stays the one place that says what is allowed.

A schema says types, and in words the rest; the operation then asks the form, whose sentences are the answer.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest
from django.utils.html import strip_tags
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from webapp.api.json_bodies import StrictJsonParser
from webapp.api.refusals import not_as_described, not_json, refused

MULTIPART = "multipart/form-data"

FormType = TypeVar("FormType", bound=forms.BaseForm)
BodyType = TypeVar("BodyType", bound="FormBody")

TYPES: tuple[tuple[type[forms.Field], Any], ...] = (
    (forms.MultipleChoiceField, list[str]),
    (forms.BooleanField, bool),
    (forms.FloatField, float),
    (forms.IntegerField, int),
    (forms.CharField, str),
    (forms.ChoiceField, str),
)
"""kind of field → type of its values in JSON; the first that fits"""


class FormBody(BaseModel):
    """A body with a form's fields. It takes no others, and no other types than JSON's own."""

    model_config = ConfigDict(extra="forbid", strict=True)


def fields_of(
    form: type[forms.BaseForm], *, required: Collection[str] = (), left_out: Collection[str] = ()
) -> Callable[[type[BodyType]], type[BodyType]]:
    """Give a schema the form's own fields, files left out. Only the `required` must be given."""
    shown = {
        key: field
        for key, field in _base_fields(form).items()
        if not isinstance(field, forms.FileField) and key not in left_out
    }
    fields: dict[str, Any] = {key: _described(field, is_required=key in required) for key, field in shown.items()}

    def with_fields(schema: type[BodyType]) -> type[BodyType]:
        return create_model(schema.__name__, __base__=schema, __doc__=schema.__doc__, **fields)

    return with_fields


def _base_fields(form: type[forms.BaseForm]) -> dict[str, forms.Field]:
    found: dict[str, forms.Field] = form.base_fields  # type: ignore[attr-defined]  # Django's stubs know it of forms alone
    return found


def _described(field: forms.Field, *, is_required: bool) -> tuple[Any, Any]:
    kind: Any = next(kind for form_field, kind in TYPES if isinstance(field, form_field))
    words = " ".join(filter(None, [f"{field.label}." if field.label else "", strip_tags(str(field.help_text))]))
    extra = {"minimum": getattr(field, "min_value", None), "maximum": getattr(field, "max_value", None)}
    known = {key: value for key, value in extra.items() if value is not None}
    if is_required:
        return kind, Field(description=words, json_schema_extra=known)
    return kind | None, Field(None, description=words, json_schema_extra=known)


def filled(
    make: Callable[..., FormType],
    body: BaseModel,
    more: Mapping[str, Any] | None = None,
    *,
    left_out: Collection[str] = (),
    **options: Any,
) -> FormType:
    """The valid form with the given fields; the others are as its page first shows them. Raises RefusedError.

    `make`: the form's class, or what makes one; `options` are its arguments beside the data. `more` are fields beside
    those of the body, of which some are `left_out`.
    """
    given = body.model_dump(exclude_unset=True, exclude={*left_out}) | {**(more or {})}
    form = make(data=data_of(make(**options), given), **options)
    if not form.is_valid():
        raise refused(form)
    return form


def data_of(unbound: forms.BaseForm, given: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a form: `given`, else what the form first shows."""
    initial = {name: unbound.get_initial_for_field(field, name) for name, field in unbound.fields.items()}
    return {name: value for name, value in {**initial, **given}.items() if value is not None}


def multipart_of(form: type[forms.BaseForm], *, schema: type[FormBody] | None = None, **more: str) -> dict[str, Any]:
    """`openapi_extra` of an operation that takes the form with its files, or, with `schema`, JSON without files.

    `more`: fields that the form has at times → what they are.
    """
    fields = {name: _multipart_field(field) for name, field in _base_fields(form).items()}
    fields |= {name: {"type": "string", "description": words} for name, words in more.items()}
    needed = [name for name, field in _base_fields(form).items() if field.required and field.initial is None]
    content = {MULTIPART: {"schema": {"type": "object", "properties": fields, "required": needed}}}
    if schema is not None:
        content["application/json"] = {"schema": schema.model_json_schema()}
    return {"requestBody": {"required": True, "content": content}}


def _multipart_field(field: forms.Field) -> dict[str, Any]:
    words = " ".join(filter(None, [f"{field.label}." if field.label else "", strip_tags(str(field.help_text))]))
    file = {"contentMediaType": "application/octet-stream", "format": "binary"}
    return {"type": "string", "description": words, **(file if isinstance(field, forms.FileField) else {})}


def given_fields(request: HttpRequest, schema: type[FormBody]) -> dict[str, Any]:
    """The fields of a body that is multipart, or JSON of that schema. Raises RefusedError."""
    if request.content_type == MULTIPART:
        return {name: request.POST[name] for name in request.POST}
    try:
        body = StrictJsonParser().parse_body(request)
    except ValueError:
        raise not_json() from None
    try:
        return schema.model_validate(body).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise not_as_described([str(part) for part in first["loc"]], first["msg"]) from None
