"""A model of a Hugging Face configuration: its sizes alone, no weights, no network, no code that the file brings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placeto.errors import RecordingError
from placeto.recorder import record

if TYPE_CHECKING:
    from placeto.recording import Recording

_TOKEN_LABELS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForMaskedLM", "ForTokenClassification")
_SAMPLE_LABELS = ("ForSequenceClassification", "ForImageClassification", "ForAudioClassification")
_LARGEST_FILE_BYTES = 10_000_000


def record_configuration(
    path: Path, *, batch: int, length: int, trains: bool, dtype: str | None, phase: str | None
) -> Recording:
    """Records a step of the architecture that a `config.json` names.

    Args:
        path: The file, or the folder that holds it.
        batch: Samples.
        length: Tokens a sample.
        trains: A training step with AdamW; otherwise inference.
        dtype: Of the weights; without it what the configuration says.
        phase: `decode` for one token after `length` others; otherwise all tokens at once.

    Raises:
        RecordingError: The file or what it names cannot be recorded.
    """
    import torch

    if trains and phase is not None:
        raise RecordingError("--phase is of inference, and --train records a training step: give one of them")
    model = _model(path, dtype)
    model.train(trains)
    inputs = _inputs(model, batch, length, path)
    folder = path if path.is_dir() else path.parent
    name = path.stem if path.is_file() and path.stem != "config" else folder.resolve().name
    if trains:
        inputs.update(_labels(model, inputs, batch))
        return record(model, inputs, optimizer=torch.optim.AdamW, batch=batch, name=name)
    if phase == "decode":
        if "input_ids" not in inputs or model.config.is_encoder_decoder:
            raise RecordingError(f"{path}: --phase decode is for a decoder that reads tokens")
        before = {**inputs, "use_cache": True}
        return record(
            model, {"input_ids": inputs["input_ids"][:, :1], "use_cache": True}, batch=batch, name=name, after=before
        )
    return record(model, inputs, batch=batch, name=name)


def _model(path: Path, dtype: str | None) -> Any:
    import torch

    try:
        import transformers
    except ImportError as error:
        raise RecordingError("--hf needs transformers in this environment: pip install transformers") from error
    transformers.logging.set_verbosity_error()
    values = _values(path)
    kind = values.get("model_type")
    mapping = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if not isinstance(kind, str) or kind not in mapping:
        reason = "it brings code of its own, which is not run" if "auto_map" in values else "transformers knows no such"
        raise RecordingError(f"{path}: the model_type {kind!r}: {reason}")
    try:
        configuration = mapping[kind].from_dict(values)
        chosen = torch.float32 if dtype is None and configuration.dtype is None else dtype or configuration.dtype
        with torch.device("meta"):
            return _class(values, configuration, transformers)._from_config(
                configuration, dtype=getattr(torch, chosen) if isinstance(chosen, str) else chosen
            )
    except RecordingError:
        raise
    except Exception as error:
        raise RecordingError(f"{path}: {type(error).__name__}: {' '.join(str(error).split())[:300]}") from error


def _values(path: Path) -> dict[str, Any]:
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise RecordingError(f"{file}: there is no such file")
    if file.stat().st_size > _LARGEST_FILE_BYTES:
        raise RecordingError(f"{file}: a configuration has at most {_LARGEST_FILE_BYTES // 1_000_000} MB")
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{file}: not JSON: {str(error)[:200]}") from error
    if not isinstance(values, dict):
        raise RecordingError(f"{file}: a configuration is a JSON object")
    return values


def _class(values: dict[str, Any], configuration: Any, transformers: Any) -> Any:
    """The class that the file names, else the causal language model of its type, else its plain model."""
    named = values.get("architectures") or []
    if named and isinstance(named, list) and isinstance(named[0], str):
        found = getattr(transformers, named[0], None)
        if isinstance(found, type) and issubclass(found, transformers.PreTrainedModel):
            return found
        raise RecordingError(f"the architecture {named[0]!r} is unknown to transformers {transformers.__version__}")
    for auto in (transformers.AutoModelForCausalLM, transformers.AutoModel):
        if type(configuration) in auto._model_mapping:
            found = auto._model_mapping[type(configuration)]
            return found[0] if isinstance(found, (tuple, list)) else found
    raise RecordingError(f"transformers knows no model for {type(configuration).__name__}")


def _inputs(model: Any, batch: int, length: int, path: Path) -> dict[str, Any]:
    import torch

    configuration = model.config
    name = model.main_input_name
    inputs: dict[str, Any]
    if name == "input_ids":
        inputs = {name: torch.zeros(batch, length, dtype=torch.long)}
    elif name == "pixel_values":
        size = _found(configuration, "image_size") or 224
        height, width = size if isinstance(size, (list, tuple)) else (size, size)
        channels = _found(configuration, "num_channels") or 3
        inputs = {name: torch.zeros(batch, channels, height, width, dtype=model.dtype)}
    elif name == "input_features" and hasattr(configuration, "num_mel_bins"):
        frames = 2 * getattr(configuration, "max_source_positions", 1500)
        inputs = {name: torch.zeros(batch, configuration.num_mel_bins, frames, dtype=model.dtype)}
    elif name == "input_values":
        inputs = {name: torch.zeros(batch, 16_000, dtype=model.dtype)}
    else:
        raise RecordingError(f"{path}: inputs named {name} are not made here: record a MODULE:FUNCTION")
    if configuration.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.zeros(batch, length, dtype=torch.long)
    return inputs


def _found(configuration: Any, name: str) -> Any:
    """A value of the configuration, or of the first one in it that has it, such as that of its vision tower."""
    value = getattr(configuration, name, None)
    parts = (part for part in vars(configuration).values() if hasattr(part, "to_dict"))
    return value if value is not None else next((found for part in parts if (found := _found(part, name))), None)


def _labels(model: Any, inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    import torch

    name = type(model).__name__
    if name.endswith(_SAMPLE_LABELS):
        return {"labels": torch.zeros(batch, dtype=torch.long)}
    tokens = inputs.get("decoder_input_ids", inputs.get("input_ids"))
    if name.endswith(_TOKEN_LABELS) and tokens is not None:
        return {"labels": torch.zeros_like(tokens)}
    if name.endswith("ForQuestionAnswering"):
        return {key: torch.zeros(batch, dtype=torch.long) for key in ("start_positions", "end_positions")}
    raise RecordingError(f"{name} has no labels that are known here: record a MODULE:FUNCTION with a loss")
