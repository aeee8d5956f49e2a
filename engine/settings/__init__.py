"""Settings of methods: their declaration, their lists and how they are made."""
