"""Models of transformers by their default configurations, made smaller where they are large."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import torch

AUTO = "transformers.models.auto.modeling_auto"
SOUND_SAMPLES, FRAMES = 16_000, 256
LARGEST = 2_000_000_000
"""parameters of a model that is taken as it is"""
LAYERS, EXPERTS = 4, 16
_LAYER_NAMES = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "depth")
_EXPERT_NAMES = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
TOKENS_NAME, IMAGE_NAME, SOUND_NAME, FEATURES_NAME = "input_ids", "pixel_values", "input_values", "input_features"
GRID_NAME, MASK_NAME = "target_sizes", "image_embeds_position_mask"
TEXTS = (TOKENS_NAME, "decoder_input_ids", "attention_mask", MASK_NAME)
MADE = (*TEXTS, IMAGE_NAME, SOUND_NAME, FEATURES_NAME, GRID_NAME)
"""arguments that are made here"""
ALSO = {
    "kosmos-2": (TOKENS_NAME, MASK_NAME),
    "minicpm_ocr_vision": (GRID_NAME,),
    "minicpmv4_7_vision": (GRID_NAME,),
}
"""type → arguments that its `forward` does not require and does not do without"""
PAIRS_OF_IMAGES = ("lightglue",)
PACKED_IMAGES = ("minicpm_ocr_vision", "minicpmv4_7_vision")
"""types that take the patches of all images as one"""
SOUND_WITH_A_CHANNEL = (
    "dac",
    "encodec",
    "higgs_audio_v2_tokenizer",
    "mimi",
    "neucodec",
    "pe_audio",
    "xcodec",
    "xcodec2",
)
MELS = {"gemma4_audio": 128}
"""type → features of a frame, where its configuration does not say it"""


def names() -> list[str]:
    """All types that have a model."""
    return sorted(importlib.import_module(AUTO).MODEL_MAPPING_NAMES)


def _class(name: str) -> Any:
    """The causal language model of a type, else its plain model."""
    auto = importlib.import_module(AUTO)
    found = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(name) or auto.MODEL_MAPPING_NAMES[name]
    return getattr(importlib.import_module("transformers"), found[0] if isinstance(found, (tuple, list)) else found)


def built(name: str, changes: Mapping[str, Any]) -> Any:
    """The model of a type on the meta device, with some values of its configuration changed."""
    cls = _class(name)
    with torch.device("meta"):
        return cls(cls.config_class(**changes))


def smaller(name: str, largest: int = LARGEST) -> tuple[Any, dict[str, Any]]:
    """The model of a type, and the changes of its configuration, if it has more than `LARGEST` parameters without.

    With few layers it may have `largest`. Raises ValueError where it has more in any case.
    """
    model = built(name, {})
    for limits in (dict.fromkeys(_LAYER_NAMES, LAYERS), dict.fromkeys((*_LAYER_NAMES, *_EXPERT_NAMES), LAYERS)):
        limits |= dict.fromkeys(_EXPERT_NAMES, EXPERTS) if _EXPERT_NAMES[0] in limits else {}
        if parameters(model) <= LARGEST:
            return model, {}
        changes = _changes(model.config, limits)
        small = built(name, changes)
        if parameters(small) <= largest:
            return small, changes
    raise ValueError(f"more than {largest:,} parameters with {LAYERS} layers")


def parameters(model: torch.nn.Module) -> int:
    """How many a model has; tied ones count once."""
    return sum(each.numel() for each in model.parameters())


def _changes(configuration: Any, limits: Mapping[str, int]) -> dict[str, Any]:
    """What makes the numbers of a configuration, and of those in it, not larger than their limits."""
    found: dict[str, Any] = {}
    for key, most in limits.items():
        value = getattr(configuration, key, None)
        if isinstance(value, int) and value > most:
            found[configuration.attribute_map.get(key, key)] = most
    for key in configuration.sub_configs:
        part = getattr(configuration, key, None)
        inner = _changes(part, limits) if part is not None else {}
        if inner:
            found[key] = inner
    return found


def wanted_inputs(model: Any) -> list[str]:
    """The arguments with which a model is called: its main one, those that it requires, and what two towers take."""
    signature = inspect.signature(model.forward).parameters
    required = [
        name
        for name, each in signature.items()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    wanted = dict.fromkeys((model.main_input_name, *required))
    if hasattr(model, "get_text_features") and IMAGE_NAME in signature:
        wanted |= dict.fromkeys((TOKENS_NAME, IMAGE_NAME))
    if model.config.is_encoder_decoder and "decoder_input_ids" in signature:
        wanted["decoder_input_ids"] = None
    return [*wanted, *ALSO.get(model.config.model_type, ())]


def inputs_of(model: Any, batch: int, tokens: int) -> dict[str, torch.Tensor]:
    """Arguments by name, all zeros: `batch` texts of at most `tokens` tokens, images, sounds."""
    return {name: _made(model, name, batch, tokens) for name in wanted_inputs(model)}


def _made(model: Any, name: str, batch: int, tokens: int) -> torch.Tensor:
    if name in TEXTS:
        return torch.zeros(batch, _length(model.config, tokens), dtype=torch.long)
    if name == IMAGE_NAME:
        return _image(model.config, batch)
    if name == SOUND_NAME:
        channel = (1,) if model.config.model_type in SOUND_WITH_A_CHANNEL else ()
        return torch.zeros(batch, *channel, SOUND_SAMPLES)
    if name == GRID_NAME:
        *_, height, width = _image(model.config, batch).shape
        patch = model.config.patch_size
        return torch.tensor([[height // patch, width // batch // patch]] * batch)
    if name == FEATURES_NAME:
        return _features(model.config, batch)
    raise ValueError(f"no {name} is made here")


def _length(configuration: Any, tokens: int) -> int:
    text = configuration.get_text_config()
    return min(tokens, getattr(text, "max_position_embeddings", None) or tokens)


def _image(configuration: Any, batch: int) -> torch.Tensor:
    vision = getattr(configuration, "vision_config", configuration)
    size = getattr(vision, "image_size", None) or 224
    height, width = size if isinstance(size, (list, tuple)) else (size, size)
    shape = (getattr(vision, "num_channels", None) or 3, height, width)
    frames = 2 if configuration.model_type in PAIRS_OF_IMAGES else getattr(vision, "num_frames", None)
    if configuration.model_type in PACKED_IMAGES:
        return torch.zeros(1, shape[0], height, batch * width)
    return torch.zeros(batch, *((frames,) if frames else ()), *shape)


def _features(configuration: Any, batch: int) -> torch.Tensor:
    mels = MELS.get(configuration.model_type) or _mels(configuration) or 80
    positions = getattr(configuration, "max_source_positions", None)
    if positions and configuration.is_encoder_decoder:
        return torch.zeros(batch, mels, 2 * positions)
    return torch.zeros(batch, FRAMES, mels)


def _mels(configuration: Any) -> int | None:
    """Features of a frame, as a configuration or one in it says them."""
    for name in ("num_mel_bins", "feature_projection_input_dim"):
        if getattr(configuration, name, None):
            return int(getattr(configuration, name))
    parts = (getattr(configuration, key, None) for key in configuration.sub_configs)
    return next((found for part in parts if part is not None and (found := _mels(part))), None)
