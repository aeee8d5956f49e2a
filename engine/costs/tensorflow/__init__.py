"""What interprets TensorFlow: its estimator, shapes, values and buffers of a graph. Most of it runs in the child."""
