"""The model inside of what wraps it for several processes or for the compiler."""

import torch

from placeto.errors import RecordingError

_WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod"}


def unwrapped(model: object) -> torch.nn.Module:
    """The module of a person's own.

    Raises:
        RecordingError: No module, or one whose weights are cut into shards or not made yet.
    """
    while type(model).__name__ in _WRAPPERS:
        model = getattr(model, _WRAPPERS[type(model).__name__])
    if not isinstance(model, torch.nn.Module):
        raise RecordingError(f"the model is a torch.nn.Module; here it is a {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise RecordingError("a model of TorchScript does not run in Python: record the one it was made from")
    for name, module in model.named_modules():
        where = name or type(module).__name__
        if any(cls.__name__ in ("FullyShardedDataParallel", "FSDPModule") for cls in type(module).__mro__):
            raise RecordingError(f"{where} is wrapped by FSDP, which cuts its weights: record the model before that")
    for name, parameter in model.named_parameters():
        if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
            raise RecordingError(f"{name} has no shape before the model has run once: run it once on an input")
        if type(parameter).__name__ == "DTensor" or hasattr(parameter, "_local_tensor"):
            raise RecordingError(f"{name} is cut into shards (DTensor): record the model before that")
    return model
