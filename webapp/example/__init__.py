"""The example that comes with the release: one finished run, which the home page opens in one click."""
