"""What reports say of a batch in a stream."""

from engine.events import Json
from engine.simulator.simulator import Loads
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.stream import Objective, Stream

US_IN_A_SECOND = 1e6


def fields_of_batch(
    batch: SimulatedBatch, stream: Stream, period_us: float, loads: Loads, samples: int
) -> dict[str, Json]:
    """The fields of a batch in reports; `samples` of a micro-batch, 0 where it is not known."""
    micro_batches = stream.micro_batches
    rate = micro_batches * US_IN_A_SECOND / batch.batch_time_us if batch.batch_time_us > 0 else None
    of_samples: dict[str, Json] = {"samples_per_second": rate * samples} if samples and rate is not None else {}
    note: dict[str, Json] = {"note": batch.schedule.note} if batch.schedule.note else {}
    return {
        "objective": str(Objective.THROUGHPUT),
        "stream": stream.to_json() | note,
        "period_us": period_us,
        "batch_time_us": batch.batch_time_us,
        "micro_batches_per_second": rate,
        **of_samples,
        "stages": len(batch.stages),
        "is_contiguous": batch.stages.is_contiguous,
        "device_load_us": loads.device_us.tolist(),
        "link_load_us": loads.link_us.tolist(),
    }
