"""Node-link JSON, a format that holds a graph and its costs."""
