"""One policy for all: on graphs, families and kinds of graphs that it has never seen."""
