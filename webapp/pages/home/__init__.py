"""The home page: what the application does, the example, an upload, recent projects."""
