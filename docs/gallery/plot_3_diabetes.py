"""
The course of a disease: regression
===================================

442 diabetes patients, ten measurements, and how far the disease had progressed after a
year. A regression forest keeps the moments of its leaves, so it can say how sure it is,
and of what.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from hedgerow import RandomForestRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y.to_numpy(), test_size=0.4, random_state=0
)
forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(
    X_train, y_train
)
print(f"R2 {forest.score(X_test, y_test):.2f}")

# %%
# Three kinds of intervals
# ------------------------
# ``predict_bounds`` bounds the *mean*: what it would be if each leaf had one more row with
# the lowest or the highest known target. ``predict_quantiles`` describes where patients
# like this one *were*. ``predict_interval`` predicts where the next one *will be*, and
# is calibrated on out-of-bag rows.

bounds = forest.predict_bounds(X_test)
quantiles = forest.predict_quantiles(X_test, (0.05, 0.5, 0.95))
interval = forest.predict_interval(X_test, coverage=0.9)
for name, (low, high) in {
    "bounds of the mean": bounds.T,
    "5% and 95% quantile": quantiles[:, [0, 2]].T,
    "90% interval": interval.T,
}.items():
    inside = np.mean((low <= y_test) & (y_test <= high))
    print(
        f"{name:22} {inside:.1%} of patients inside, mean width {np.mean(high - low):.0f}"
    )

# %%
# Few patients lie within the bounds of the mean, as they should: these bounds say nothing
# about single patients.
#
# Noise or ignorance?
# -------------------

variance = forest.predict_uncertainty(X_test)
print(f"noise within leaves   {variance.aleatoric.mean():.0f}")
print(f"disagreement of trees {variance.epistemic.mean():.0f}")

# %%
order = np.argsort(forest.predict(X_test))
place = np.arange(len(order))
fig, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.fill_between(place, *interval[order].T, alpha=0.2, label="90% interval", step="mid")
axes.fill_between(
    place, *bounds[order].T, alpha=0.6, label="bounds of the mean", step="mid"
)
axes.plot(place, y_test[order], "k.", markersize=3, label="patients")
axes.set(xlabel="patients, by prediction", ylabel="progression after a year")
axes.legend(loc="upper left")
plt.show()
