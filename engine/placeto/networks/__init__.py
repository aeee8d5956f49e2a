"""The networks that decide: the shared head and the published ones, bound to a problem as an `Actor`."""
