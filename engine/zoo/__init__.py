"""Graphs that the engine builds itself, with TensorFlow, in a child process."""

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from engine.child.parent import (
    Limits,
    Pulse,
    ReportProgress,
    Results,
    child_results,
    no_progress,
    no_pulse,
    publish,
)
from engine.errors import SettingsError, shortened
from engine.events import Json
from engine.settings.making import make_settings
from engine.zoo.enas_settings import Cifar10Settings, PtbSettings
from engine.zoo.settings import InceptionSettings, ModelSettings, NasnetSettings, NmtSettings, TinySettings


@dataclass(frozen=True, slots=True)
class Model:
    """A row of the zoo: a model that can be built."""

    name: str
    label: str
    builder: str
    """dotted path of the function that takes the settings and returns a GraphDef"""
    settings_type: type[ModelSettings]
    overrides: Mapping[str, Json] = field(default_factory=dict)
    """this row's settings that differ from the defaults of `settings_type`"""

    def settings(self, given: Mapping[str, Json]) -> ModelSettings:
        """`given` over the defaults. Raises SettingsError for an unknown setting or a value out of range."""
        return make_settings(self.name, self.settings_type, {**self.overrides, **given})


ZOO: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            "inception_v3",
            "Inception-V3, batch 64, a full training step",
            "engine.zoo.inception_v3:build",
            InceptionSettings,
        ),
        Model("nasnet", "NASNet-A (mobile), batch 64, a full training step", "engine.zoo.nasnet:build", NasnetSettings),
        Model(
            "nmt",
            "NMT with attention and 2 layers, 32 steps, batch 128, a full training step",
            "engine.zoo.nmt:build",
            NmtSettings,
        ),
        Model(
            "nmt_4_layers",
            "NMT with attention and 4 layers, 32 steps, batch 128, a full training step",
            "engine.zoo.nmt:build",
            NmtSettings,
            {"layers": 4},
        ),
        Model(
            "ptb",
            "ENAS's recurrent cell for Penn Treebank, 12 nodes, 35 steps, batch 64, a full training step",
            "engine.zoo.ptb:build",
            PtbSettings,
        ),
        Model(
            "cifar10",
            "ENAS's convolutional cells for CIFAR-10, 15 normal and 2 reduction cells, batch 144, a full training step",
            "engine.zoo.cifar10:build",
            Cifar10Settings,
        ),
        Model(
            "tiny_cnn", "A tiny convolutional network, a full training step", "engine.zoo.tiny_cnn:build", TinySettings
        ),
    )
}
"""name → model that can be built; settings vary each, above all `inference`"""

BUILD_LIMITS = Limits(memory_bytes=12 * 1024**3, seconds=600.0)
"""the builders have no untrusted input, so these limits only catch our own mistakes"""
BUILT_FILE = "graph.pb"
NO_SETTINGS: Mapping[str, Json] = {}


def build_graph(
    name: str,
    destination: Path,
    report_progress: ReportProgress = no_progress,
    settings: Mapping[str, Json] = NO_SETTINGS,
    limits: Limits = BUILD_LIMITS,
    pulse: Pulse = no_pulse,
) -> int:
    """Build the zoo's graph `name` into `destination` as a binary GraphDef; returns its number of ops.

    `settings` are fields of the model's settings (`engine/zoo/settings.py`). `pulse` is called several times a second;
    what it raises ends the child. Raises SettingsError for an unknown name or setting, or a value out of range.
    """
    if name not in ZOO:
        raise SettingsError(f"no graph {shortened(name)}", where="name", allowed=", ".join(ZOO), field="name")
    model = ZOO[name]
    order: dict[str, Json] = {"name": name, "settings": dataclasses.asdict(model.settings(settings))}
    with child_results(
        f"{__name__}:build_in_child",
        order,
        limits,
        task=f"building {name}",
        report_progress=report_progress,
        pulse=pulse,
        is_warm=True,
    ) as ((_, texts), folder):
        publish(folder / BUILT_FILE, destination)
    return cast(int, texts["ops"])


def definition(name: str, settings: Mapping[str, Json]) -> Any:
    """The GraphDef of the zoo's graph `name`. Call it only in a child: it loads TensorFlow."""
    return _builder(name)(settings)


def build_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Load TensorFlow, call the builder, leave the graph in `folder`."""
    report_progress("loading TensorFlow", 0, 3)
    builder = _builder(cast(str, order["name"]))
    report_progress("building the graph", 1, 3)
    graph = builder(cast(dict[str, Json], order["settings"]))
    report_progress("writing the graph", 2, 3)
    (folder / BUILT_FILE).write_bytes(graph.SerializeToString(deterministic=True))
    report_progress("writing the graph", 3, 3)
    return {}, {"ops": len(graph.node)}


def _builder(name: str) -> Callable[[Mapping[str, Json]], Any]:
    """The function from settings to a GraphDef; importing it loads TensorFlow."""
    model = ZOO[name]
    module, _, function = model.builder.partition(":")
    build = getattr(importlib.import_module(module), function)
    return lambda settings: build(model.settings(settings))
