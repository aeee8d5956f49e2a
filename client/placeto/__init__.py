"""Records a step of a PyTorch model as a graph that Placeto Explorer places on devices.

    graph = placeto.record(model, inputs, loss=lambda out: out.loss, optimizer=torch.optim.AdamW, batch=2)
    graph.save("step.json.gz")
    placeto.apply(model, "step.device_map.json")  # what was written for it

The step runs on fake tensors: no memory, no weights, no GPU. Importing this package needs nothing beside Python;
PyTorch is imported when a model is recorded.
"""

from placeto.applying import apply
from placeto.errors import PlacementError, RecordingError
from placeto.recorder import record
from placeto.recording import Recording

__version__ = "0.1.0"
__all__ = ["PlacementError", "Recording", "RecordingError", "apply", "record"]
