"""What theory and experiment both mean by the same word: starts, and what is seen of a network."""
