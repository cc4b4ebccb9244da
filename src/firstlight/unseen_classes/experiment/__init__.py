"""Experiment of `unseen_classes`: one step of a real network, and deep ones."""
