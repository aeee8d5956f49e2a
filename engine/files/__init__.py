"""Files and texts: written whole or not at all, packed, read with limits."""
