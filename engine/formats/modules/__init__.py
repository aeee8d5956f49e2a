"""Placements of PyTorch's modules: device maps and stages, written from a placement of ops and read into one."""
