"""Theory of `one_step`: what error one gradient step and a ridge read-out leave, without training.

`predictions` conditions on a sampled first layer and replaces the training set by deterministic equivalents:
`deterministic` with one covariance for all samples, `classwise` with one for each class. `asymptotic` draws
no network at all. `degree` says how many Hermite terms a surrogate needs.
"""
