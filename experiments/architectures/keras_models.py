"""Models of `keras.applications` on Keras's PyTorch backend, which the environment has to choose."""

import importlib
from typing import Any

import torch

from engine.errors import SettingsError

NOT_WITH_PYTORCH = "NASNet"
"""how names begin of models that Keras refuses to build on this backend"""
USUAL_SIDE = 224
"""of an image, where a model takes any"""


class _Layer(torch.nn.Module):
    """A Keras layer as a module of its own: Keras calls layers past PyTorch's hooks and keeps weights in the model."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self._call, self._variables = layer.call, list(layer.variables)
        for number, variable in enumerate(self._variables):
            self.register_parameter(f"{variable.name}_{number}", variable.value)
        layer.__dict__["call"] = lambda *arguments, **keywords: self(*arguments, **keywords)

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        for variable, value in zip(self._variables, self.parameters(recurse=False), strict=True):
            variable._value = value  # a recorder puts others in the place of those that there were
        return self._call(*arguments, **keywords)


class _Model(torch.nn.Module):
    """A Keras model that is called as PyTorch's are: its mode is that of the module."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleDict()
        for layer in model._flatten_layers(include_self=False):
            if not any(True for _ in layer._flatten_layers(include_self=False)):
                self.layers[layer.name] = _Layer(layer)
        self._called = [model]  # no module of this one, so that a weight has one name

    def forward(self, images: torch.Tensor) -> Any:
        return self._called[0](images, training=self.training)


def _keras() -> Any:
    keras = importlib.import_module("keras")
    if keras.backend.backend() != "torch":
        what = "Keras runs on another backend"
        raise SettingsError(what, where=keras.backend.backend(), allowed="KERAS_BACKEND=torch in the environment")
    return keras


def keras_names() -> list[str]:
    """All architectures."""
    applications = vars(_keras().applications)
    found = (name for name, each in applications.items() if name[0].isupper() and callable(each))
    return sorted(name for name in found if not name.startswith(NOT_WITH_PYTORCH))


def keras_model(name: str, batch: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """An architecture without weights, and `batch` images of its size."""
    model = getattr(_keras().applications, name)(weights=None)
    *sides, channels = model.input_shape[1:]
    return _Model(model), torch.zeros(batch, *(side or USUAL_SIDE for side in sides), channels)
