"""The borders of the design as rules: each gives the lines of a source that break it."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

import networkx

from tests.borders.python_source import PythonSource

FLOORS: tuple[tuple[str, ...], ...] = (
    ("webapp.supervisor",),
    ("webapp.asgi", "webapp.celery", "webapp.settings", "webapp.apps", "webapp.checks", "webapp.urls"),
    ("webapp.api",),
    ("webapp.pages",),
    ("webapp.access",),
    ("webapp.http",),
    ("webapp.example",),
    ("webapp.backups",),
    ("webapp.sharing", "webapp.hooks"),
    ("webapp.comparisons", "webapp.placements", "webapp.plans", "webapp.measuring"),
    ("webapp.runs",),
    ("webapp.policies",),
    ("webapp.uploads",),
    ("webapp.graphs",),
    ("webapp.projects",),
    ("webapp.jobs",),
    ("webapp.accounts",),
    ("webapp.workers",),
    (
        "webapp.capacity",
        "webapp.disk_use",
        "webapp.form_errors",
        "webapp.hanging",
        "webapp.incidents",
        "webapp.processes",
        "webapp.stored_paths",
        "webapp.temporary_files",
    ),
    (
        "webapp.accounts_mode",
        "webapp.broker_address",
        "webapp.database_address",
        "webapp.environment",
        "webapp.json_field",
        "webapp.mail_address",
        "webapp.logs",
        "webapp.option_words",
        "webapp.prepared_query",
    ),
    ("engine.__main__", "engine.cli", "experiments"),
    ("engine.api",),
    ("engine.measuring", "engine.comparing", "engine.plans"),
    ("engine.run",),
    ("engine.policy_training", "engine.explaining", "engine.flat_view", "engine.block_view", "engine.placement_files"),
    ("engine.zoo",),
    ("engine.placers",),
    ("engine.policies",),
    ("engine.placeto",),
    ("engine.search",),
    ("engine.problem",),
    ("engine.simulator",),
    ("engine.formats", "engine.prepared"),
    ("engine.costs",),
    ("engine.graphs",),
    ("engine.clusters",),
    ("engine.child",),
    ("engine.files", "engine.settings"),
    ("engine.events",),
    ("engine.errors", "engine.number_words"),
)
"""From the top. A module may import from its own floor and from lower ones. A new file gets its floor here."""

PICKLES = (
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "torch.load",
    "torch.save",
    "multiprocessing",
    "torch.multiprocessing",
)
"""what would run code from a file or a message; the pipes and queues of multiprocessing pickle what is sent"""

NO_PICKLES = ("multiprocessing.util",)
"""what of those modules pickles nothing"""

PARENT_OF_LEARNERS = "engine.policies.processes"
"""A child of a training reads its plan as a pickle from its standard input, a pipe without a name in which its parent
alone writes. What comes from a file, an upload, the database, a broker or another host is no pickle."""


@cache
def floor_of(module: str) -> int | None:
    """The index in FLOORS; None for what is not ours, and for the packages `engine` and `webapp` themselves."""
    for index, names in enumerate(FLOORS):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return index
    return None


def broken_floors(source: PythonSource) -> Iterator[str]:
    """Imports from a higher floor, also of what a string names for a later import."""
    own = floor_of(source.module)
    if own is None:
        return
    for reach in [*source.imports(), *source.models_in_strings()]:
        other = floor_of(reach.name)
        if other is not None and other < own:
            yield f"{source.module}:{reach.line} imports {reach.name}, which stands higher"


def ways_round_the_api(source: PythonSource) -> Iterator[str]:
    """What of the engine webapp reaches other than through engine.api."""
    for reach in source.imports():
        if reach.name.startswith("engine.") and not (reach.name + ".").startswith("engine.api."):
            yield f"{source.module}:{reach.line} reaches {reach.name}, not engine.api"


def web_in_the_engine(source: PythonSource) -> Iterator[str]:
    """Imports of the web's libraries, and of webapp."""
    for reach in source.imports():
        if reach.name.partition(".")[0] in ("django", "celery", "kombu", "redis", "webapp"):
            yield f"{source.module}:{reach.line} imports {reach.name}"


def ours_in_the_client(source: PythonSource) -> Iterator[str]:
    """What the package placeto imports of ours, which people do not have, and of torch before it is used."""
    for reach in source.imports():
        if reach.name.partition(".")[0] in ("engine", "experiments", "setup", "webapp", "numpy"):
            yield f"{source.module}:{reach.line} imports {reach.name}"
    if ".pytorch" not in source.module:
        for node in source.tree.body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] == "torch" or name.startswith("placeto.pytorch") for name in names):
                yield f"{source.module}:{node.lineno} imports torch while it is imported"


READER_OF_A_TOKEN = "client.placeto.remote.environment"
"""A script of a CI server has its token in the environment, so that it stands in no file and no list of processes."""


def environment_reads(source: PythonSource) -> Iterator[str]:
    """Every use of the process's environment."""
    if source.module == READER_OF_A_TOKEN:
        return
    for reach in [*source.attributes(), *source.imports()]:
        if re.match(r"os\.(environb?|getenvb?)\b", reach.name):
            yield f"{source.module}:{reach.line} uses {reach.name}"


def pickles(source: PythonSource) -> Iterator[str]:
    """Every way to a pickle."""
    for reach in [*source.attributes(), *source.imports()]:
        if reach.name in ("pickle", "pickle.load", "pickle.dump") and source.module == PARENT_OF_LEARNERS:
            continue
        if reach.name.startswith(NO_PICKLES):
            continue
        if any(reach.name == name or reach.name.startswith(f"{name}.") for name in PICKLES):
            yield f"{source.module}:{reach.line} uses {reach.name}"
    for value, line in source.arguments("allow_pickle"):
        if not (isinstance(value, ast.Constant) and value.value is False):
            yield f"{source.module}:{line} allows pickles"


def mocks_and_tests(source: PythonSource) -> Iterator[str]:
    """Imports of tests and of the libraries for tests, also by a string."""
    for reach in [*source.imports(), *source.late_imports()]:
        if reach.name.partition(".")[0] in ("tests", "unittest", "pytest", "hypothesis"):
            yield f"{source.module}:{reach.line} imports {reach.name}"


_FOREIGN_ADDRESS = re.compile(r"""(?:https?:|wss?:|["'(=]\s*)//(?P<host>[\w\[][\w.:\]-]*)""")
_NAMESPACES = ("www.w3.org",)
"""names that look like addresses and are never fetched"""


def import_circles(sources: Sequence[PythonSource]) -> list[list[str]]:
    """Modules that import each other, at whatever time; what a string names for later is no import here."""
    modules = {source.module for source in sources}
    imports = networkx.DiGraph()
    for source in sources:
        names = {reach.name for reach in source.import_statements()} & modules
        whole = {name for name in names if not any(other.startswith(f"{name}.") for other in names)}
        imports.add_edges_from((source.module, name) for name in whole)
    return [sorted(circle) for circle in networkx.strongly_connected_components(imports) if len(circle) > 1]


_FRAMEWORK_NAMES = ("Migration", "Command")
"""that Django looks for by name"""


def types_of_one_name(sources: Sequence[PythonSource]) -> list[str]:
    """Names that two modules give to types: a word means one thing.

    A model of the database may have the name of what it stores: `Run` is a run in the engine and its row.
    """
    modules_by_name: dict[str, list[str]] = {}
    for source in sources:
        for name in source.types():
            modules_by_name.setdefault(name, []).append(source.module)
    for name, modules in modules_by_name.items():
        if any(module.startswith("engine.") for module in modules):
            modules_by_name[name] = [module for module in modules if not _MODELS.fullmatch(module)]
    return [
        f"{name}: {', '.join(modules)}"
        for name, modules in sorted(modules_by_name.items())
        if len(modules) > 1 and name not in _FRAMEWORK_NAMES
    ]


_MODELS = re.compile(r"webapp\.\w+\.models")


def loans_from_tests(source: PythonSource) -> Iterator[str]:
    """Imports from a file of tests: what several files need stands in a module of its own."""
    for reach in source.imports():
        if reach.name.startswith("tests.") and any(part.startswith("test_") for part in reach.name.split(".")[:-1]):
            yield f"{source.module}:{reach.line} imports {reach.name}"


def foreign_addresses(text: str) -> list[str]:
    """The hosts other than this server that a page, a module or a style names."""
    return [match["host"] for match in _FOREIGN_ADDRESS.finditer(text) if match["host"] not in _NAMESPACES]
