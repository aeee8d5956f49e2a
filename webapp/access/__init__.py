"""The gate: who may ask for which address, decided in one place for pages, files, streams and the API."""
