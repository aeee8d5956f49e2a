"""Costs of ONNX ops from their types and shapes. Importing these modules loads `onnx`: in a child alone."""
