"""Reads and writes ONNX files (`.onnx`). Runs in a child."""
