"""What people get today from the tools that they use: rules over a model's layers in order, restated."""
