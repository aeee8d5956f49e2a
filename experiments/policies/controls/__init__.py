"""What answers without a search on the graph itself are worth, on a validation split cut from training graphs."""
