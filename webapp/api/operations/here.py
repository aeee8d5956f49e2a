"""This installation: who asks, its version, its methods, samples and devices."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from pydantic import BaseModel, Field

from engine import api
from webapp.accounts.models import TokenScope
from webapp.accounts.visitor import acting
from webapp.api.answers import one_of
from webapp.api.routing import ApiRouter
from webapp.runs.devices_text import describe_devices
from webapp.runs.machines import machine_choices
from webapp.workers.machine_file import own_machine

router = ApiRouter(tags=["This installation"])


class LimitsOut(BaseModel):
    """What a request may have at most."""

    upload_bytes: int = Field(description="Of a graph with its measured times.")
    body_bytes: int = Field(description="Of any other body.")
    requests_per_minute: int = Field(description="0: as many as you like.")


class MeOut(BaseModel):
    """Who asks."""

    user: str | None = Field(description="The name of the account; null: there are no accounts.")
    is_operator: bool = Field(description="Whether they may do everything.")
    accounts: str = Field(description="How people log in here; `off`: there are no accounts.")
    scope: str = Field(json_schema_extra=one_of(TokenScope.values), description="What the token allows.")
    limits: LimitsOut


class VersionOut(BaseModel):
    """The version of this server."""

    version: str


class MethodOut(BaseModel):
    """A method that places graphs."""

    name: str
    label: str
    kind: str
    does: str
    presets: list[str] = Field(description="The default first.")
    is_deterministic: bool = Field(description="Whether every seed gives the same placements.")
    takes_policy: bool
    streams_only: bool = Field(description="Whether it takes a stream of micro-batches alone.")


class MethodsOut(BaseModel):
    """The methods, the recommended one first."""

    items: list[MethodOut]


class SampleOut(BaseModel):
    """A model that is built here."""

    name: str
    label: str


class SamplesOut(BaseModel):
    """The samples."""

    items: list[SampleOut]


class DevicesOut(BaseModel):
    """What a text for devices says."""

    words: str
    short_words: str
    has_cpu: bool
    error: str = Field(description="Why it says nothing; empty if it describes devices.")


@router.get("/me", response=MeOut)
def me(request: HttpRequest) -> MeOut:
    """Say who asks, and what a request may have at most."""
    limits = LimitsOut(
        upload_bytes=settings.UPLOAD_LIMIT_BYTES,
        body_bytes=settings.FORM_LIMIT_BYTES,
        requests_per_minute=settings.API_REQUESTS_PER_MINUTE,
    )
    visitor = acting()
    return MeOut(
        user=visitor.username or None,
        is_operator=visitor.may_everything,
        accounts=settings.ACCOUNTS,
        scope=visitor.scope,
        limits=limits,
    )


@router.get("/version", response=VersionOut)
def version(request: HttpRequest) -> VersionOut:
    """Say the version of this server."""
    return VersionOut(version=api.VERSION)


@router.get("/methods", response=MethodsOut)
def methods(request: HttpRequest) -> MethodsOut:
    """List the methods that place graphs."""
    return MethodsOut(items=[_method(method) for method in api.methods()])


def _method(method: api.Method) -> MethodOut:
    return MethodOut(
        name=method.name,
        label=method.label,
        kind=method.kind,
        does=method.does,
        presets=list(method.presets),
        is_deterministic=method.deterministic,
        takes_policy=method.takes_policy,
        streams_only=method.streams_only,
    )


@router.get("/samples", response=SamplesOut)
def samples(request: HttpRequest) -> SamplesOut:
    """List the models that are built here, of which a graph can be made."""
    return SamplesOut(items=[SampleOut(name=name, label=label) for name, label in api.samples().items()])


@router.get("/devices", response=DevicesOut)
def devices(request: HttpRequest, text: str = "") -> DevicesOut:
    """Say what a text such as `2xV100+cpu` describes, as the field `cluster` of every form reads it."""
    found: Any = describe_devices(text, machine_choices(own_machine())).to_json()
    return DevicesOut(**{name: found[name] for name in DevicesOut.model_fields})
