"""A page's modules as one script, and its style sheets as one: two requests instead of a hundred and fifty."""
