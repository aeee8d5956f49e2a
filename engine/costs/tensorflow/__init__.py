"""The costs of a TensorFlow graph. Most of it runs in the child; `estimating.estimate` is where it begins.

`placeholders` makes a graph that the estimator takes; `grappler` asks it for the operations and bytes of each op;
`correcting` puts closed forms in place of what it miscounts. Where shapes are open, or ops are unknown to it,
`inference/` finds shapes and small values, and `isolated` costs these ops one by one. `costs.work_time_us` then makes
a time of work.
"""
