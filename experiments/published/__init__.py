"""The paper's own experiments with its own networks, trained on families of graphs."""
