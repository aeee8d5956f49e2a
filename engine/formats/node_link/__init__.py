"""Node-link JSON, which brings its costs along."""
