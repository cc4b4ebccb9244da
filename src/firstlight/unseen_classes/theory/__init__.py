"""Theory of `unseen_classes`: the features of new classes after one gradient step."""
