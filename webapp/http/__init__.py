"""What is about HTTP: connections, bodies, threads, headers, answers to mistakes. For pages and the server alone."""
