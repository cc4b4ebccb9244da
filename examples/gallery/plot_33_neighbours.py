"""
Which pair of unseen classes is confused?
=========================================

Predicted Recall@1 of pairs of unseen digits, after one step on 0 and 1.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from firstlight import unseen_classes

X, y = load_digits(return_X_y=True)
data = unseen_classes.standardised(
    unseen_classes.split_classes(X[:700], y[:700], [0, 1])
)
recall = (
    unseen_classes.analyse(data, unseen_classes.Step())
    .pair_recall.to_series()
    .nsmallest(8)
)
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.barh(
    [name.replace(" - ", " and ") for name in recall.index], 1 - recall.to_numpy()
)
axes.invert_yaxis()
axes.set(
    xlabel="1 - predicted Recall@1", title="the eight pairs that are confused most"
)
