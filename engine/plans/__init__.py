"""Plans: which devices are one replica of a model, which share of the batch each takes, and where its groups run."""
