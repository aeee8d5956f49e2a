"""Settings of methods: ranges, lists, sentences."""
