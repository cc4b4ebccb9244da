"""What the theory says of a setting, in each of its ways: exact paths, limits, a closed form, bounds."""

import math

import numpy as np
import xarray as xr

from firstlight.early_alignment.definitions.setting import Setting
from firstlight.early_alignment.definitions.tables import observed
from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.fitting import fitting_bound, settles_quietly, settling_time
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.early_alignment.theory.limits import limits
from firstlight.early_alignment.theory.path import AlignmentPath
from firstlight.maths.losses import gain, margin_loss


def _path(
    setting: Setting, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray
) -> tuple[AlignmentPath, np.ndarray]:
    """Return the exact path, and log ‖w‖ at the start."""
    path = align(X, y, W, second_layer=v, loss=setting.loss, reduction=setting.reduction)
    return path, setting.log_scale + np.log(np.linalg.norm(W, axis=1))


def exact(
    setting: Setting, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, neurons: bool
) -> xr.Dataset:
    """Return the exact path in the limit of small starts, as long as outputs are negligible."""
    path, start = _path(setting, X, y, W, v)
    quiet = setting.times[setting.times <= path.quiet_until(start, 1e-2, setting.horizon)]
    states = [(u, start + growth, v) for u, growth, v in zip(*path.state(quiet), strict=True)]
    results = observed(setting, X, y, quiet, states, neurons).reindex(time=setting.times)
    settled = settling_time(path)
    results["alignment_time"] = settled if np.isfinite(settled) else np.nan
    for name, fate in (("plus", 1), ("minus", -1), ("dead", 0)):
        results[f"fate_{name}"] = float((path.fate == fate).mean())
    results["converged"] = bool(path.complete.all())
    notes = list(path.notes)
    if not np.isfinite(settled):
        notes.insert(0, "no alignment time: not every neuron settles on the class of its sign")
    return results.assign_attrs(note="; ".join(notes))


def limit(setting: Setting, X: np.ndarray, y: np.ndarray) -> xr.Dataset:
    """Return the limits t → ∞ of the curves; the loss's, a / (t log t), from t = e on."""
    end = limits(X, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = np.where(
            setting.times > math.e, end.loss_coefficient / (setting.times * np.log(setting.times)), np.nan
        )
    note = {"note": "the limit of the loss is told from t = e on"} if np.isnan(decay).any() else {}
    results = xr.Dataset({"loss": ("time", decay)}, {"time": setting.times}, note)
    results["log_loss"] = np.log(results.loss)
    for name, sign, direction in (("plus", 1, end.direction_plus), ("minus", -1, end.direction_minus)):
        center = X[y == sign].sum(axis=0)
        cosine = direction @ center / np.linalg.norm(center) if center.any() else np.nan
        results[f"cosine_{name}"] = ("time", np.full(len(setting.times), cosine))
    results["stable_rank"] = ("time", np.full(len(setting.times), end.stable_rank))
    return results.assign(converged=bool(np.isfinite(end.stable_rank)))


def bound(
    setting: Setting, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, method: str
) -> xr.Dataset:
    """Return a bound on the alignment time, or on the loss, where it holds for this start."""
    data = geometry(X, y, W, np.where(v < 0, -1, 1))
    promised = bounds(data, len(v), setting.log_scale, loss=setting.loss, reduction=setting.reduction)
    path, start = _path(setting, X, y, W, v)
    note = data.obstacle
    if not note and setting.start == "gaussian":
        note = "start = 'gaussian': the bounds need a balanced one"
    elif not note and not settles_quietly(path, start):
        note = f"outputs matter before all neurons have settled; {promised.reason}"
    named = "paper" if method == "rate" else method
    value = xr.Dataset({"alignment_time": np.nan if note else promised.alignment_time[named]})
    if method == "rate":
        t2 = np.nan if note else fitting_bound(path, start, setting.loss, setting.horizon)
        value = value.merge(_rate(setting, X, y, path, start, t2, promised.fitting_rate))
    return value.assign(converged=not note).assign_attrs(note=note)


def _rate(
    setting: Setting,
    X: np.ndarray,
    y: np.ndarray,
    path: AlignmentPath,
    start: np.ndarray,
    t2: float,
    alpha: float,
) -> xr.Dataset:
    """L(t) ≤ L₀/(1 + α L₀ (t - t₂)), since the bound grows with t₂ and with L(t₂), at most L₀ = L(0)."""
    u, _, ratio = path.state(0.0)
    hidden = (ratio * np.exp(2 * start)) @ np.maximum(u @ X.T, 0)
    values = margin_loss(setting.loss).value(y, hidden)
    first = float(values.sum() if setting.reduction == "sum" else values.mean())
    loss = first / (1 + alpha * first * np.maximum(setting.times - t2, 0))
    results = xr.Dataset({"loss": ("time", loss)}, {"time": setting.times})
    return results.assign(log_loss=np.log(results.loss))


def law(setting: Setting) -> xr.Dataset:
    """Return the closed form of the alignment time for two points and one neuron."""
    if setting.start != "angle":
        raise ValueError(f"method = 'law': needs start = 'angle', not {setting.start!r}")
    inside = 0 < setting.separation <= setting.angle < np.pi / 2
    speed = gain(setting.loss, setting.reduction, 2)
    ratio = np.tan(setting.angle / 2) / np.tan(setting.separation / 2) if inside else np.nan
    note = "" if inside else "separation: the closed form needs 0 < separation <= angle < π/2"
    return xr.Dataset({"alignment_time": np.log(ratio) / speed, "converged": inside}, attrs={"note": note})
