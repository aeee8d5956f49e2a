"""Records a step of a PyTorch model as a graph that Placeto Explorer places on devices.

    graph = placeto.record(model, inputs, loss=lambda out: out.loss, optimizer=torch.optim.AdamW, batch=2)
    graph.save("step.json.gz")
    placeto.apply(model, "step.device_map.json")  # what was written for it
    placeto.carry_out("plan.json", model, inputs, loss, torch.optim.AdamW)  # in processes that torchrun starts

The step runs on fake tensors: no memory, no weights, no GPU. Importing this package needs nothing beside Python;
PyTorch is imported when a model is recorded.
"""

from placeto.applying import apply
from placeto.carrying_out import carry_out
from placeto.errors import PlacementError, PlanError, RecordingError
from placeto.recorder import record
from placeto.recording import Recording

__version__ = "0.1.0"
__all__ = ["PlacementError", "PlanError", "Recording", "RecordingError", "apply", "carry_out", "record"]
