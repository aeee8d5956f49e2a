"""Large files that arrive in parts, so that an interrupted upload goes on where it stopped."""
