"""Shared mathematics: activations, quadrature, losses, solvers, intervals, streams, workers, checks."""
