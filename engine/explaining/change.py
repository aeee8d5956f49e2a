"""What would make splitting pay, where it does not: what stands in its way, and what would take that away."""

from engine.number_words import part_words, time_words

CHAIN_PART = 0.9
"""of one device's step: with a longest path above it, hardly anything can run beside anything else"""
LAUNCH_PART = 0.25
"""of one device's step: with more of it spent on launches, each launch has too little work"""


def change_sentence(one_device_us: float, launches_us: float, path_us: float) -> str:
    """What would change that splitting does not pay; empty for a step without time.

    All in µs: the step on the best single device, its rests after ops in it, and the longest path of ops, with the
    transfers that no placement spares.
    """
    if one_device_us <= 0:
        return ""
    if path_us >= CHAIN_PART * one_device_us:
        takes = f"the longest path takes {part_words(min(1.0, path_us / one_device_us))} of the step on one device"
        return f"Its ops wait for each other: {takes}, so faster links or more devices would not help."
    if launches_us >= LAUNCH_PART * one_device_us:
        return (
            f"{part_words(launches_us / one_device_us)} of the step on one device is launching ops: "
            "a larger batch would give each launch more work, and the devices more to share."
        )
    return (
        f"The longest path takes {time_words(path_us)} of the {time_words(one_device_us)} on one device, so there is "
        "work to share: faster links would make sharing it cheaper."
    )
