"""The engine: a library that places computation graphs on devices, with no web, environment or configuration."""

VERSION = "0.2.0"
