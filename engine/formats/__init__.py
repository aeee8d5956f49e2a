"""Files of graphs: a row a format, checked without TensorFlow, read and costed in one child, written placed."""
