"""What the architecture test reads from the sources."""
