"""Architectures drawn at random from timm, torchvision and transformers: how many are recorded, read and placed.

`python -m experiments recorded` writes docs/results/recorded.{md,json}. timm and torchvision are installed beside, in a
folder that PYTHONPATH names, since nothing else needs them; transformers and accelerate come with requirements-dev.txt:

    pip install --no-deps --target vision timm==1.0.31 torchvision==0.28.0
    PYTHONPATH=vision python -m experiments recorded
    PYTHONPATH=vision:client python -m experiments.recorded.drawing  # draws the list again

The 220 architectures stand in list.json here. Each has a child process with limits; its row is kept in
kept/recorded.jsonl, so a second call continues where the first stopped.
"""
