"""Small-initialisation ReLU networks: geometry, bounds, limits, and the exact alignment path."""
