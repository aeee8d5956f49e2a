"""The cluster of a machine that was measured, as `calibrate` writes it."""

from typing import Any

FIGURE = {"value": 200.0, "low": 190.0, "high": 210.0, "how": "µs"}
MACHINE: dict[str, Any] = {
    "devices": [{"name": f"/device:CPU:{index}", "kind": "this-CPU"} for index in range(2)],
    "kinds": {
        "this-CPU": {
            "class": "CPU",
            "peak_gflops": 200.0,
            "memory_bandwidth_bytes_per_us": 28_000.0,
            "memory_bytes": 10**10,
        }
    },
    "links": {"bandwidth_bytes_per_us": 1200.0, "latency_us": 200.0},
    "calibration": {"machine": "2 × a processor", "date": "2026-01-31", "figures": {"latency_us": FIGURE}},
}
