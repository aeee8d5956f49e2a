"""The help page, and the tips on all other pages: both show the same words."""
