"""Tests of the package placeto in client/, which records a step of a PyTorch model."""
