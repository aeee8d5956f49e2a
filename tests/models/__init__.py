"""Real models, built from Keras layers as people build theirs, and the engine's reading of their files.

    python -m tests.models                                          # writes the page, docs/models.md
    python -m tests.models NAME --out FOLDER [--form FORM]          # writes one file
    python -m tests.models --list                                   # lists the models
    python -m tests.models.lookups                                  # small models behind lookups

`registry.py` lists the models and forms. Each model has its own closed forms: the floating-point operations of its
convolutions and matrix products, counted layer by layer (`layer_products.py`), and the bytes of its variables.
"""
