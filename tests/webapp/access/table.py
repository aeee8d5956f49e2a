"""Who may ask for what: the permission table of every address, written by hand.

    name of the address: (who may read it and the answer, who may write to it and the answer)

An address without a name stands with its pattern. Who: `anyone`; `holder` of the link in the address; `known`, whoever
has an account; a `viewer`, `editor` or `owner` of the row's project, or one with a higher role; `operator`. The answer
is that to somebody who may: reading is GET, writing is POST with the fields of `FIELDS`, else with none, which most
forms refuse. None: the address does not take the method, and nobody gets more than that from it.
"""

from collections.abc import Mapping
from typing import TypeAlias

Entry: TypeAlias = tuple[str, int] | None
Row: TypeAlias = tuple[Entry, Entry]


def reading(who: str, status: int = 200) -> Row:
    """A page or file that takes no POST."""
    return (who, status), None


def writing(who: str, status: int = 302) -> Row:
    """What takes POST alone."""
    return None, (who, status)


def form(who: str, written: int, shown: int = 200) -> Row:
    """A page with a form, shown to those who may send it."""
    return (who, shown), (who, written)


TABLE: Mapping[str, Row] = {
    # the application
    "health": reading("anyone"),
    "ready": reading("anyone"),
    "live": reading("anyone"),
    "states": reading("known"),
    "packs:script": reading("anyone"),
    "packs:styles": reading("anyone"),
    "home:page": reading("known"),
    "home:example": writing("known"),
    "home:run-example": writing("known"),
    "help:page": reading("known"),
    "status:page": reading("operator"),
    "status:metrics": reading("anyone", 404),  # checks a token of its own; there is none
    "devices:described": writing("known", 200),
    # accounts
    "accounts:log-in": (("anyone", 200), ("anyone", 200)),  # Django shows a refused form again with 200
    "accounts:log-out": writing("anyone", 302),
    "accounts:set-up": (("anyone", 404), ("anyone", 404)),  # there is an operator
    "accounts:change-password": (("known", 200), ("known", 200)),
    "accounts:ask-for-mail": (("anyone", 404), ("anyone", 404)),  # no mail is set up
    "accounts:set-password": (("anyone", 200), ("anyone", 200)),  # of an unknown token: a sentence
    "accounts:own": reading("known"),
    "accounts:make-token": writing("known", 400),
    "accounts:revoke-token": writing("known", 404),  # one's own; the address names none
    "accounts:end-session": writing("known", 404),
    "accounts:users": form("operator", 200),
    "accounts:limits": form("operator", 200),
    "accounts:log": reading("operator"),
    "accounts:user": form("operator", 200),
    "accounts:remove-quota": writing("operator"),
    "accounts:password-link": writing("operator", 201),
    "provider:log-in": writing("anyone", 404),  # there is no provider with `local`
    "provider:answer": reading("anyone", 404),
    "members:list": (("viewer", 200), ("owner", 400)),
    "members:remove": writing("owner"),
    "members:open": writing("owner"),
    # projects and graphs
    "projects:list": form("known", 302),
    "projects:detail": reading("viewer"),
    "projects:rename": writing("editor", 400),
    "projects:delete": form("owner", 302),
    "graphs:upload-first": writing("known", 400),
    "graphs:upload": writing("editor", 400),
    "graphs:sample-first": writing("known", 400),
    "graphs:sample": writing("editor", 400),
    "graphs:detail": reading("viewer"),
    "graphs:status": reading("viewer"),
    "graphs:events": reading("viewer"),
    "graphs:stream": reading("viewer"),
    "graphs:view": reading("viewer"),
    "graphs:begin": writing("editor", 409),
    "graphs:again": writing("editor"),
    "graphs:rename": writing("editor", 400),
    "graphs:delete": form("editor", 302),
    "explorer:ops": reading("viewer"),
    "explorer:drawing": reading("viewer"),
    "explorer:scope": reading("viewer"),
    "explorer:costs": reading("viewer"),
    "explorer:flat_view": reading("viewer"),
    "explorer:block": reading("viewer"),
    "explorer:ops_of_blocks": reading("viewer"),
    "explorer:methods": reading("viewer"),
    # measuring
    "profiles:create": writing("editor", 400),
    "profiles:download": reading("viewer"),
    "profiles:cancel": writing("editor", 409),
    "profiles:use": writing("editor"),
    "machine:page": reading("known"),
    "machine:calibrate": writing("operator"),
    "machine:cancel": writing("operator", 409),
    "measurements:create": form("editor", 400),
    "measurements:detail": reading("viewer"),
    "measurements:report": reading("viewer", 404),  # it has not ended
    "measurements:cancel": writing("editor"),
    "measurements:delete": form("editor", 302),
    # policies
    "policies:list": reading("known"),
    "policies:upload": writing("known", 400),
    "policies:train": (("known", 200), ("known", 200)),  # a POST asks for the project first
    "policies:detail": reading("viewer"),
    "policies:events": reading("viewer"),
    "policies:stream": reading("viewer"),
    "policies:cancel": writing("editor", 409),
    "policies:download": reading("viewer"),
    "policies:publish": writing("owner"),
    "policies:rename": writing("editor", 400),
    "policies:delete": form("editor", 302),
    # runs
    "runs:create": writing("editor", 400),
    "runs:detail": reading("viewer"),
    "runs:json": reading("viewer"),
    "runs:events": reading("viewer"),
    "runs:stream": reading("viewer"),
    "runs:cancel": writing("editor", 409),
    "runs:rename": writing("editor"),
    "runs:delete": form("editor", 302),
    "runs:download-simplest": reading("viewer", 404),  # this answer has none
    "runs:download": reading("viewer"),
    "explorer:graph_of_run": reading("viewer"),
    "explorer:drawing_of_run": reading("viewer"),
    "explorer:scope_of_run": reading("viewer"),
    "explorer:block_of_run": reading("viewer"),
    "explorer:ops_of_blocks_of_run": reading("viewer"),
    "explorer:step": writing("viewer", 200),
    "explorer:stream_blocks": reading("viewer", 404),  # it is no run for a stream
    "explorer:gains": writing("viewer", 200),
    "explorer:band": reading("viewer"),
    "explorer:decisions": reading("viewer"),
    "explorer:explanation": reading("viewer"),
    "explorer:others": reading("viewer"),
    "explorer:other": reading("viewer"),
    "exports:html": reading("viewer"),
    "exports:run": reading("viewer"),
    "exports:placement": (("viewer", 200), ("viewer", 200)),
    "placements:kept": reading("viewer"),
    "placements:keep": writing("editor", 201),
    "placements:upload": writing("editor", 400),
    "placements:go_on": writing("editor", 400),
    "placements:download_by_hand": writing("viewer", 200),
    "placements:json": reading("viewer"),
    "placements:explanation": reading("viewer"),
    "placements:rename": writing("editor", 200),
    "placements:delete": writing("editor", 200),
    "placements:download": reading("viewer"),
    # comparisons and plans
    "comparisons:create": form("editor", 400),
    "comparisons:detail": reading("viewer"),
    "comparisons:state": reading("viewer"),
    "comparisons:events": reading("viewer"),
    "comparisons:stream": reading("viewer"),
    "comparisons:table-part": reading("viewer"),
    "comparisons:cancel": writing("editor", 409),
    "comparisons:rename": writing("editor"),
    "comparisons:delete": form("editor", 302),
    "comparisons:table": reading("viewer"),
    "comparisons:report": reading("viewer"),
    "comparisons:figure-svg": reading("viewer"),
    "comparisons:figure-png": reading("viewer"),
    "plans:create": form("editor", 400),
    "plans:detail": reading("viewer"),
    "plans:events": reading("viewer"),
    "plans:stream": reading("viewer"),
    "plans:report": reading("viewer"),
    "plans:open": writing("editor", 400),
    "plans:cancel": writing("editor", 409),
    "plans:rename": writing("editor"),
    "plans:delete": form("editor", 302),
    # webhooks, whose pages show where messages go
    "hooks:list": form("editor", 400),
    "hooks:detail": reading("editor"),
    "hooks:edit": form("editor", 400),
    "hooks:test": writing("editor"),
    "hooks:switch": writing("editor"),
    "hooks:secret": writing("editor", 200),
    "hooks:delete": form("editor", 302),
    "hooks:again": writing("editor"),
    # links
    "sharing:of-graph": reading("editor"),
    "sharing:share-graph": writing("editor", 201),
    "sharing:of-search": reading("editor"),
    "sharing:share-search": writing("editor", 201),
    "sharing:of-run": reading("editor"),
    "sharing:share-run": writing("editor", 201),
    "sharing:of-comparison": reading("editor"),
    "sharing:share-comparison": writing("editor", 201),
    "sharing:revoke": writing("editor", 204),
    "sharing:page": reading("holder"),
    "shared/<str:token>/events.json": reading("holder"),
    "shared/<str:token>/events": reading("holder"),
    "shared/<str:token>/graph.json": reading("holder"),
    "shared/<str:token>/ops.json": reading("holder"),
    "shared/<str:token>/costs.json": reading("holder"),
    "shared/<str:token>/drawing.json": reading("holder"),
    "shared/<str:token>/scope.json": reading("holder"),
    "shared/<str:token>/flat/<str:of>": reading("holder"),
    "shared/<str:token>/blocks/<int:number>": reading("holder"),
    "shared/<str:token>/blocks/ops": reading("holder"),
    "shared/<str:token>/explanations/<int:seq>": reading("holder"),
    "shared/<str:token>/blocks.json": reading("holder", 404),  # it is no run for a stream
    "shared/<str:token>/step": writing("holder", 200),
    "shared/<str:token>/gains.json": writing("holder", 200),
    "shared/<str:token>/exports/run/run.html": reading("holder"),
    "shared/<str:token>/exports/run/<str:name>": reading("holder"),
    "shared/<str:token>/exports/<str:name>": (("holder", 200), ("holder", 200)),
    "shared/<str:token>/placement.json": reading("holder"),
    "shared/<str:token>/simplest/placement.json": reading("holder", 404),
    "shared/<str:token>/report.json": reading("holder"),
    "shared/<str:token>/view.json": reading("holder"),
    "shared/<str:token>/status.json": reading("holder"),
    "shared/<str:token>/plan.json": reading("holder"),
    "shared/<str:token>/table.html": reading("holder"),
    "shared/<str:token>/comparison.md": reading("holder"),
    "shared/<str:token>/comparison.json": reading("holder"),
    "shared/<str:token>/comparison.svg": reading("holder"),
    "shared/<str:token>/comparison.png": reading("holder"),
}

ACCOUNTS_ALONE = ("accounts:", "members:", "provider:")
"""begin the names of addresses that are not there without accounts"""

ADMIN = "operator"
"""who may ask for any address of Django's admin, where there are accounts"""

SENT_ON = {"accounts:log-in": 302}
"""the answer, whatever the method, to whoever has logged in"""

_PLACEMENT = {"placement": "[1, 1, 1, 1, 1]"}
FIELDS: Mapping[str, Mapping[str, str]] = {
    "explorer:step": _PLACEMENT,
    "explorer:gains": _PLACEMENT,
    "exports:placement": _PLACEMENT,
    "placements:keep": {"name": "kept", **_PLACEMENT},
    "placements:download_by_hand": _PLACEMENT,
    "placements:rename": {"name": "other"},
    "shared/<str:token>/step": _PLACEMENT,
    "shared/<str:token>/gains.json": _PLACEMENT,
    "shared/<str:token>/exports/<str:name>": _PLACEMENT,
}
"""name of an address → what is sent there by POST"""
