"""The commands that list choices: `methods` and `settings`."""

import argparse
import json
from collections.abc import Sequence

from engine import api
from engine.cli import Commands
from engine.errors import SettingsError, shortened

NAME_WIDTH = 23


def add_methods(commands: Commands) -> None:
    """Add the command `methods`."""
    parser = commands.add_parser("methods", help="list the methods")
    parser.set_defaults(command=_methods)


def add_settings_list(commands: Commands) -> None:
    """Add the command `settings [NAME]`."""
    parser = commands.add_parser("settings", help="list the settings for --set: defaults, allowed values, meaning")
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="a method, `training` or a sample; without it, the names",
    )
    parser.add_argument("--preset", help="with the defaults of this preset (see `methods`)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--json-schema", action="store_true", help="print a JSON Schema of the settings for --set")
    parser.set_defaults(command=_settings)


def _methods(_parsed: argparse.Namespace) -> int:
    for method in api.methods():
        presets = f"  presets: {', '.join(method.presets)}" if method.presets else ""
        policy = "  takes a policy" if method.takes_policy else ""
        start = "  searches from --start" if method.searches_from_start else ""
        print(f"{method.name:{NAME_WIDTH}}{method.label}{presets}{policy}{start}")
    return 0


def _settings(parsed: argparse.Namespace) -> int:
    if parsed.name is None:
        return _names(parsed)
    known = api.what_has_settings()
    if parsed.name not in known:
        raise SettingsError("there is no such name", where=shortened(parsed.name), allowed=", ".join(known))
    given = {} if parsed.preset is None else {"preset": parsed.preset}
    if parsed.json_schema:
        schema = api.settings_schema(parsed.name, known[parsed.name], given)
        print(json.dumps(schema, indent=1, ensure_ascii=False))
        return 0
    settings = api.list_settings(known[parsed.name], given)
    print_settings(settings, as_json=parsed.json)
    if not settings and not parsed.json:
        print(f"{parsed.name} has no settings")
    return 0


def print_settings(settings: Sequence[api.Setting], *, as_json: bool) -> None:
    """Print one line a setting, or all as JSON."""
    if as_json:
        print(json.dumps([setting.to_json() for setting in settings], indent=1, ensure_ascii=False))
        return
    for setting in settings:
        print(setting.line())


def _names(parsed: argparse.Namespace) -> int:
    """Print the names that have settings, and the kind of each."""
    if parsed.preset is not None:
        raise SettingsError("no name is given", where="--preset", allowed="it with the name of a method")
    if parsed.json_schema:
        raise SettingsError("no name is given", where="--json-schema", allowed="it with a name of the list")
    labels = {method.name: f"method {method.label}" for method in api.methods()}
    labels |= {name: f"sample, for `build {name}`" for name in api.samples()} | {"training": "for `train`"}
    names = [name for name, make in api.what_has_settings().items() if api.list_settings(make, {})]
    if parsed.json:
        print(json.dumps(names, indent=1))
        return 0
    for name in names:
        print(f"{name:{NAME_WIDTH}}{labels[name]}")
    return 0
