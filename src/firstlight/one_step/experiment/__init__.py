"""Experiment of `one_step`: networks trained by one gradient step and a ridge read-out."""
