"""The state of the installation: a page for its operator, and metrics for Prometheus."""
