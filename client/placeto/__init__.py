"""Records a step of a PyTorch model as a graph, and places graphs on devices with a server of Placeto Explorer.

    graph = placeto.record(model, inputs, loss=lambda out: out.loss, optimizer=torch.optim.AdamW, batch=2)
    graph.save("step.json.gz")
    placed = placeto.Client().place(graph, "2xRTX4090")  # or a model with inputs=, or a file
    placeto.apply(model, "step.device_map.json")  # what was written for it
    placeto.carry_out("plan.json", model, inputs, loss, torch.optim.AdamW)  # in processes that torchrun starts

The step runs on fake tensors: no memory, no weights, no GPU. Importing this package needs nothing beside Python;
PyTorch is imported when a model is recorded, httpx when a Client is made.
"""

from placeto.applying import apply
from placeto.carrying_out import carry_out
from placeto.errors import ClientError, InfeasibleError, PlacementError, PlanError, RecordingError, ServerError
from placeto.recorder import record
from placeto.recording import Recording
from placeto.remote.client import Client
from placeto.remote.runs import PlacedRun, Run

__version__ = "0.1.0"
__all__ = [
    "Client",
    "ClientError",
    "InfeasibleError",
    "PlacedRun",
    "PlacementError",
    "PlanError",
    "Recording",
    "RecordingError",
    "Run",
    "ServerError",
    "apply",
    "carry_out",
    "record",
]
