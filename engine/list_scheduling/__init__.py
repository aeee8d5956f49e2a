"""List scheduling: groups in an order, each on the device that looks best for it there and then, by compiled code."""
