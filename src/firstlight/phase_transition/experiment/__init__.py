"""Experiment of `phase_transition`: gradient descent of finite networks."""
