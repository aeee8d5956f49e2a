"""TensorFlow's graphs: messages, signatures and devices of ops, inlining of functions."""
