"""The ONNX model as ops and values. Importing these modules loads `onnx`: in a child alone."""
