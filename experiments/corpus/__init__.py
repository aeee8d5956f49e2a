"""The corpus: real architectures recorded as graphs, split by architecture family into training, development and test.

`python -m experiments corpus` records what the cache lacks and writes docs/results/corpus.{md,json}. timm and
torchvision are installed beside, in a folder that PYTHONPATH names, since nothing else needs them:

    pip install --no-deps --target vision timm==1.0.31 torchvision==0.28.0
    PYTHONPATH=vision python -m experiments corpus
    PYTHONPATH=vision:client python -m experiments.corpus.choosing  # chooses the architectures again

The repository has the list of graphs alone; recordings and group graphs stand in a cache outside it. `lineage.py` says
which family an architecture belongs to, `split.py` on which side a family is. Other experiments take graphs with
`cached.graphs_of`, and problems with `cached.problem`.
"""
