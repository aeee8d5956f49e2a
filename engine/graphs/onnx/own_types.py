"""What our graphs of ONNX models call what is no node of the model. Importing this loads nothing."""

SUFFIX = ".onnx"
"""of the file, and the format of a graph's origin"""
INPUT, INITIALIZER, CONSTANT = "Input", "Initializer", "Constant"
"""types of ops: an input, an initialiser that several nodes share, a constant"""
