"""What theory and experiment both mean by the same word: the step, its covariance, the observables' names."""
