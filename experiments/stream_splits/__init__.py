"""What rules and searches make of a stream of micro-batches, for whole models on equal and unequal cards."""
