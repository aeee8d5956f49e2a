"""TensorFlow's graphs: its messages, what its ops take and where they run, functions inlined."""
