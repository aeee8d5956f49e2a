"""Measures a machine's devices and the links between them, and describes them as a cluster.

`trials.py` has what is run, `trials_in_child.py` runs it, `fitting.py` makes figures of the times, and `calibration.py`
makes a cluster of the figures. On GPUs these are `gpu_trials.py`, `gpu_trials_in_child.py` and `gpu.py`. `machine.py`
chooses.
"""
