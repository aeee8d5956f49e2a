"""Real models, built from Keras layers as people build theirs, and the engine's reading of their files.

    python -m experiments.models                                          # lists the models
    python -m experiments.models NAME --out FOLDER [--form FORM]          # writes one file

`registry.py` lists the models and forms. Each model has its own closed forms: the floating-point operations of its
convolutions and matrix products, counted layer by layer (`layer_products.py`), and the bytes of its variables.
"""
