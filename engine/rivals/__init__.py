"""What the published search methods are made of, free of evaluations: they are driven by their placers."""
