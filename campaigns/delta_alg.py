"""delta_alg of random targets in random frames, against closed forms and quadratures in their own frame.

    python campaigns/delta_alg.py [--first 0] [--count 2000] [--seconds 3600] [--log delta_alg.jsonl]

A target is y = f(a) + c g(b), or g(b) is told only where a > t, of easy coordinates a and hard ones b in a
random orthonormal frame, with noise or not, as a text or as a function; f and g jump, level off, oscillate,
or are narrow. Given a, the label is c g(b) and noise, so that the truth is a quadrature in one coordinate
(or a closed form in two), done here by other means. Seed by seed it can be resumed: `--first`.

A number is silently wrong if it is converged and off by more than four times its error and a thousandth (and
twice what the truth's own quadrature changes when it is halved).
Exit code 1 if any is, if more than 2 per cent are flagged, or if a call takes over 30 s or 1 GB.
"""

import argparse
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.signal import fftconvolve
from scipy.special import ndtr, ndtri

from firstlight.data.multi_index import MultiIndex
from firstlight.phase_transition.theory.alg import delta_alg

SECONDS, MEGABYTES, FLAGGED = 30.0, 1024, 0.02
ERRORS, MARGIN = 4.0, 1e-3

# functions that show their argument: texts of {}, with a shift or a rate drawn at random
EASY = ("{}", "relu({})", "tanh({r}*{})", "sign({} - {t})", "{}**3", "exp({})", "erf({}) + {}", "({} > {t})",
        "softplus(3*{})", "max({}, {t})", "step({} - {t}) + 0.5*{}")  # fmt: skip
# even functions, which hide theirs: those that tell |b| in full, and others
FULL = ("{}**2", "abs({})", "tanh({p}*({}**2 - 1))", "1/({}**2 + {p})", "(abs({}) + (abs({}) > {p}))",
        "exp(-{}**2)")  # fmt: skip
HARD = ("sign(abs({}) - {p})", "cos({r}*{})", "(abs({}) < {w})", "max(abs({}) - {p}, 0)", "min(abs({}), {p})",
        "({}**4 - {r}*{}**2)", "sign(cos({r}*{}))", "relu({p} - abs({}))", *FULL)  # fmt: skip
# of two hard coordinates, with 1/(largest eigenvalue)
PAIRS = (("{b}*{c}", 19 / 32), ("sign({b}*{c})", np.pi**2 / 4), ("({b}**2 + {c}**2)", 1.0),
         ("abs({b}*{c})", None))  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A target and its truth."""

    text: str
    target: MultiIndex
    truth: float
    error: float  # of the truth


def filled(text: str, variable: str, rng: np.random.Generator) -> str:
    """Write a variable and random parameters into a text."""
    values = {
        "r": f"{rng.uniform(0.8, 4):.3f}",
        "t": f"{rng.uniform(-0.8, 0.8):.3f}",
        "p": f"{rng.uniform(0.3, 2.2):.3f}",
        "w": f"{10 ** rng.uniform(-2.5, -0.3):.5f}",
    }
    return text.replace("{}", variable).format(**values)


def told(function: Callable[[np.ndarray], np.ndarray], noise: float, knots: int = 400_001) -> float:
    """Return E[(E[b² - 1 | y])²] of y = function(|b|) + noise, from fine cells of b."""
    edges = _at_jumps(function, np.linspace(0, 9, knots))
    b = 0.5 * (edges[1:] + edges[:-1])
    at = np.exp(-0.5 * edges**2) / np.sqrt(2 * np.pi)
    mass, moved = -2 * np.diff(ndtr(-edges)), -2 * np.diff(edges * at)
    y = function(b)
    if noise:
        return _blurred(y, mass, moved, noise)
    _, index, count = np.unique(np.round(y, 12), return_inverse=True, return_counts=True)
    atom = count[index] > 50
    parts = [np.bincount(index, m)[count > 50] for m in (mass, moved)]
    value = float(np.sum(parts[1] ** 2 / np.maximum(parts[0], 1e-300)))
    if atom.all():
        return value
    # the others: each cell's share in bins of the label, wide by equal steps in its normal score
    order = np.argsort(y[~atom], kind="stable")
    cumulative = np.cumsum(mass[~atom][order])
    score = ndtri(cumulative / cumulative[-1] * (1 - 1e-12))
    bins = np.unique(np.interp(np.linspace(-6, 6, knots // 100), score, y[~atom][order]))
    ends = np.sort([function(edges[:-1][~atom]), function(edges[1:][~atom])], axis=0)
    ends = np.where(np.diff(np.searchsorted(bins, ends), axis=0) > 100, y[~atom], ends)  # across a jump
    first, last = np.searchsorted(bins, ends)
    cell = np.repeat(np.arange(first.size), last - first + 1)
    place = (
        first[cell]
        + np.arange(cell.size)
        - np.repeat(np.cumsum(last - first + 1) - (last - first + 1), last - first + 1)
    )
    walls = np.concatenate([[-np.inf], bins, [np.inf]])
    width = (ends[1] - ends[0])[cell]
    covered = np.minimum(ends[1][cell], walls[place + 1]) - np.maximum(ends[0][cell], walls[place])
    share = np.where(width > 0, covered / np.where(width > 0, width, 1.0), 1.0)
    parts = [np.bincount(place, m[~atom][cell] * share) for m in (mass, moved)]
    kept = parts[0] > 0
    return value + float(np.sum(parts[1][kept] ** 2 / parts[0][kept]))


def _at_jumps(function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Move edges to where the function jumps, so that no cell holds a jump."""
    y = function(edges)
    at = np.flatnonzero(np.abs(np.diff(y)) > 1e-3 * np.ptp(y))
    low, high = edges[at], edges[at + 1]
    for _ in range(40):
        middle = 0.5 * (low + high)
        left = np.abs(function(middle) - y[at]) > np.abs(function(middle) - y[at + 1])
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    edges = edges.copy()
    edges[np.where(high - edges[at] < edges[at + 1] - high, np.maximum(at, 1), at + 1)] = high
    return edges


def told_by_cosine(rate: float) -> float:
    """Return E[(E[b² - 1 | cos(rate b)])²]: a sum over all b of the same cosine, and over its angle."""

    def at(angle: float) -> float:
        turns = 2 * np.pi * np.arange(-60, 61)
        b = np.concatenate([turns + angle, turns - angle]) / rate
        mass = np.exp(-0.5 * b * b) / np.sqrt(2 * np.pi) / rate
        return float((mass * (b * b - 1)).sum() ** 2 / mass.sum())

    return float(quad(at, 0, np.pi, epsabs=1e-13)[0])


def _blurred(y: np.ndarray, mass: np.ndarray, moved: np.ndarray, noise: float) -> float:
    low, high = y.min() - 8 * noise, y.max() + 8 * noise
    step = noise / 100  # linear shares add a sixth of its square to the variance
    count = int((high - low) / step) + 2
    if count > 2_000_000:
        return np.nan
    grid = np.clip(((y - low) / step).astype(int), 0, count - 2)
    share = (y - low) / step - grid
    density, second = (
        np.bincount(grid, m * (1 - share), count) + np.bincount(grid + 1, m * share, count)
        for m in (mass, moved)
    )
    at = np.arange(-800, 801) * step / noise
    kernel = np.exp(-0.5 * at**2)
    kernel /= kernel.sum()
    density, second = (fftconvolve(part, kernel) for part in (density, second))
    kept = density > 1e-12  # below, the transforms' rounding
    return float(np.sum(second[kept] ** 2 / density[kept]))


def shows(target: MultiIndex, easy: int) -> bool:
    """Tell whether the first `easy` coordinates show plainly in E[a | y], from two million draws."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((1 << 19, target.directions))
    y = target.law(z) + target.noise * rng.standard_normal(len(z))
    order = np.lexsort((rng.random(len(y)), y)).reshape(1024, -1)
    means = z[:, :easy][order].mean(axis=1)
    return bool(np.linalg.eigvalsh(means.T @ means / 1024 - np.eye(easy) / 512)[0] > 0.02)


def case(seed: int) -> Case:
    """Draw a target whose easy coordinates show plainly."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        drawn = _draw(rng)
        if drawn is not None:
            return drawn
    raise RuntimeError(f"no target for seed {seed}")


def _draw(rng: np.random.Generator) -> Case | None:
    easy, hard = [(1, 1), (1, 1), (1, 1), (0, 1), (2, 1), (1, 2), (0, 2)][rng.integers(7)]
    k = int(rng.integers(easy + hard, 4))
    noise = float(rng.choice([0.0, 0.0, 0.0, 0.1, 0.3]))
    size = float(np.round(rng.uniform(0.3, 1.5), 3))
    names, error = [f"z{i + 1}" for i in range(easy + hard)], 0.0
    if hard == 2:
        text, value = PAIRS[rng.integers(3)]
        part, top, noise, size = text.format(b=names[-2], c=names[-1]), 1 / value, 0.0, 1.0
    else:
        pattern = HARD[rng.integers(len(HARD))]
        part = filled(pattern, names[-1], rng)
        law = MultiIndex(part.replace(names[-1], "z1")).law
        rate = re.fullmatch(r"cos\(([0-9.]+)\*z\d\)", part)
        coarse, top = (
            2.0
            if pattern in FULL and not noise
            else told_by_cosine(float(rate[1]))
            if rate and not noise
            else told(lambda b: size * law(b[:, None]), noise, knots)
            for knots in (200_001, 400_001)
        )
        error = abs(coarse / top - 1)
    gated = easy == 1 and noise == 0 and rng.random() < 0.2
    text = f"{size}*{part}"
    if gated:
        edge = float(np.round(rng.uniform(-0.5, 1.5), 3))
        text, top = f"{text}*({names[0]} > {edge})", top * ndtr(-edge)
    for i in range(easy):
        scale = np.round(rng.uniform(0.7, 1.6), 3)
        text = f"{scale}*({filled(EASY[rng.integers(len(EASY))], names[i], rng)}) + {text}"
    if not np.isfinite(top) or top < 2e-3:
        return None
    plain = MultiIndex(text, directions=k, noise=noise)
    if easy and not shows(plain, easy):
        return None
    frame = np.linalg.qr(rng.standard_normal((k, k)))[0]
    if rng.random() < 0.5:
        return Case(f"function of {text}", _turned(plain, frame), 1 / top, error / top)
    for i, name in enumerate(names):
        form = " + ".join(f"({frame[j, i]!s})*x{j + 1}" for j in range(k))
        text = text.replace(name, f"({form})")
    return Case(text := text.replace("x", "z").replace("ezp", "exp").replace("maz", "max"),
                MultiIndex(text, directions=k, noise=noise), 1 / top, error / top)  # fmt: skip


def _turned(plain: MultiIndex, frame: np.ndarray) -> MultiIndex:
    return MultiIndex(lambda z: plain.law(z @ frame), directions=plain.directions, noise=plain.noise)


def judged(seed: int) -> dict:
    """Compute one delta_alg and compare."""
    drawn = case(seed)
    start = time.process_time()
    threshold = delta_alg(drawn.target)
    seconds = time.process_time() - start
    margin = ERRORS * threshold.residual + MARGIN * drawn.truth + 2 * drawn.error
    off = bool(np.isinf(threshold.value) or abs(threshold.value - drawn.truth) > margin)
    return {
        "seed": seed, "text": drawn.text, "noise": drawn.target.noise, "truth": drawn.truth,
        "value": threshold.value, "error": threshold.residual, "converged": bool(threshold.converged),
        "wrong": off, "seconds": round(seconds, 2),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }  # fmt: skip


def main() -> int:
    """Run the seeds, write a line for each, and sum up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many")
    parser.add_argument("--log", type=Path, default=None, help="a line of JSON for each target")
    options = parser.parse_args()
    start, lines = time.monotonic(), []
    for seed in range(options.first, options.first + options.count):
        if time.monotonic() - start > options.seconds:
            break
        lines.append(judged(seed))
        if options.log:
            with options.log.open("a") as log:
                log.write(json.dumps(lines[-1]) + "\n")
    silent = [line for line in lines if line["wrong"] and line["converged"]]
    flagged = [line for line in lines if not line["converged"]]
    slow = [line for line in lines if line["seconds"] > SECONDS or line["megabytes"] > MEGABYTES]
    for line in silent:
        print("silently wrong:", json.dumps(line))
    print(f"{len(lines)} targets from seed {options.first}: {len(silent)} silently wrong, "
          f"{len(flagged)} flagged, {len(slow)} slow or large; "
          f"longest {max(line['seconds'] for line in lines)} s")  # fmt: skip
    return int(bool(silent or slow) or len(flagged) > FLAGGED * len(lines))


if __name__ == "__main__":
    sys.exit(main())
