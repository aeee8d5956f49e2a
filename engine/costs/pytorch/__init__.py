"""Times of a recorded PyTorch step from a trace of torch.profiler."""
