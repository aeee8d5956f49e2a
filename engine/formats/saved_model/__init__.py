"""A zipped SavedModel: read, and written anew with one signature placed."""
