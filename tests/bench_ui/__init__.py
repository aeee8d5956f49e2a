"""A command that measures the pages in a real browser: opening, frames a second, memory."""
