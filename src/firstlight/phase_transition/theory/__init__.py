"""Phase transitions of feature learning on multi-index data: delta_alg, the Hessian's spectrum, delta_NN."""
