"""Models of timm and torchvision, and what they are called with."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch

TORCHVISION_OPS = (
    *("nms", "qnms", "roi_align", "_roi_align_backward", "qroi_align", "roi_pool", "_roi_pool_backward"),
    *("ps_roi_align", "_ps_roi_align_backward", "ps_roi_pool", "_ps_roi_pool_backward"),
    *("deform_conv2d", "_deform_conv2d_backward"),
)
"""torchvision's own ops: its compiled part, made for CUDA, does not load beside PyTorch for the CPU"""


@functools.cache
def declare_torchvision_ops() -> None:
    """Lets torchvision be imported, by us, by timm or by transformers: names alone in place of its own ops."""
    for each in TORCHVISION_OPS:
        torch.library.define(f"torchvision::{each}", "() -> ()")


def _library(name: str) -> Any:
    """timm or torchvision."""
    declare_torchvision_ops()
    return importlib.import_module(name)


class _ListsOnTheCPU(torch.overrides.TorchFunctionMode):
    """While models are built on the meta device: numbers that their builders read, such as rates by depth, are real."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function in (torch.linspace, torch.logspace):
            kwargs["device"] = "cpu"
        return function(*args, **kwargs)


def _built(build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """The model on the meta device, or on the CPU where its builder reads other numbers too."""
    try:
        with torch.device("meta"), _ListsOnTheCPU():
            return build()
    except (RuntimeError, NotImplementedError):
        return build()


def timm_names() -> list[str]:
    """All architectures."""
    return sorted(_library("timm").list_models())


def timm_model(name: str, batch: int) -> tuple[torch.nn.Module, Any]:
    """An architecture, on the meta device where it can be built there, and `batch` images of its size."""
    timm = _library("timm")
    model = _built(lambda: timm.create_model(name))
    about: Any = model.pretrained_cfg
    return model, torch.zeros(batch, *about["input_size"])


def torchvision_names() -> list[str]:
    """All architectures."""
    return sorted(_library("torchvision").models.list_models())


def torchvision_model(name: str, batch: int) -> tuple[torch.nn.Module, Any]:
    """An architecture without weights, and what it is called with."""
    models = _library("torchvision").models
    kind = models.get_model_builder(name).__module__.split(".")[2]
    keywords = {"weights_backbone": None} if kind in ("detection", "segmentation") else {}
    model = _built(lambda: models.get_model(name, weights=None, **keywords))
    return model, _torchvision_inputs(models, kind, name, model, batch)


def _torchvision_inputs(models: Any, kind: str, name: str, model: Any, batch: int) -> Any:
    if kind == "video":
        frames, size = (16, 224) if name.startswith(("mvit", "swin3d", "s3d")) else (16, 112)
        return torch.zeros(batch, 3, frames, size, size)
    if kind == "optical_flow":
        return torch.zeros(batch, 3, 128, 256), torch.zeros(batch, 3, 128, 256)
    size = getattr(model, "image_size", None) or _size(models, name)
    if kind != "detection":
        return torch.zeros(batch, 3, size, size)
    images = [torch.zeros(3, size, size) for _ in range(batch)]
    if not model.training:
        return (images,)
    target = {"boxes": torch.tensor([[10.0, 10.0, 90.0, 90.0]]), "labels": torch.ones(1, dtype=torch.long)}
    return images, [target] * batch


def _size(models: Any, name: str) -> int:
    """The side of the square image for which an architecture's weights are."""
    crop = getattr(models.get_model_weights(name).DEFAULT.transforms(), "crop_size", None)
    return int(crop[0]) if crop else 320
