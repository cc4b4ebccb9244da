"""Experiment of `early_alignment`: gradient flow and descent of networks that are really trained."""
