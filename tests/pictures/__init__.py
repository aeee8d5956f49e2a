"""Makes the pictures of README and guide."""
