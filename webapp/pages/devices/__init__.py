"""What a form's devices are."""
