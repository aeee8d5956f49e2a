"""ONNX models: read, costed, placed, written and run."""
