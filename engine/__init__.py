"""The engine: a library that places computation graphs on devices. It knows no web, no settings and no environment."""

VERSION = "0.2.0"
