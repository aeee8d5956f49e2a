"""Runs work on untrusted files in bounded child processes."""
