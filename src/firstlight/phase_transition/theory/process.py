"""Training in a growing frame, step by step: one scramble of the DMFT."""

from collections.abc import Iterator, Sequence

import numpy as np

from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.batches import Batches
from firstlight.phase_transition.theory.frame import Frame
from firstlight.phase_transition.theory.hard import HardOverlaps
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.law import CurvatureLaw
from firstlight.phase_transition.theory.path import DmftPath
from firstlight.phase_transition.theory.rule import Rows, Rule


class Process:
    """The weights in the frame, and what is recorded of them; m neurons, k followed coordinates.

    The second layer, the biases and the output's offset are few numbers: a sample moves them by a share that
    vanishes with their number, so that they follow averages.
    """

    def __init__(
        self, student: Student, sample: LabelSample, delta: float, training: Training, steps: int,
        start: np.ndarray, rng: np.random.Generator, overlaps: bool = True,
    ) -> None:  # fmt: skip
        m, capacity, r = student.width, steps * student.width, student.init_scale
        self.start, self.training, self.delta, self.steps = student, training, delta, steps
        self.batches = Batches(training, sample, rng)
        self.drawn: list[np.ndarray | None] = []  # what each step used
        self.sample = sample = self.batches.sample
        known = 1 + sample.easy.shape[1] + m + 2 * capacity
        self.frame = Frame(sample, m, delta, capacity, rng, self.batches.runs(4 * known))
        W = np.hstack([start, np.linalg.cholesky(r**2 * np.eye(m) - start @ start.T)])
        self.state = {
            name: Rows(value, np.zeros_like(value))
            for name, value in (
                ("rows", W), ("bias", np.zeros(m)), ("head", student.a),
                ("offset", np.array([student.offset])),
            )
        }  # fmt: skip
        held = overlaps and sample.second.shape[1] > 0
        self.hard = HardOverlaps(self.frame, m, r, capacity) if held else None

    def path(self, times: tuple[int, ...]) -> DmftPath:
        """Run all steps."""
        k, m, T = self.sample.easy.shape[1], self.start.width, self.steps
        n = len(self.sample.y)
        table, fields, heads = np.zeros((4, T + 1)), np.zeros((T + 1, n, m)), np.zeros((T + 1, 2 * m + 1))
        weights, overlaps = np.zeros((T + 1, m, k + (T + 1) * m)), []
        for t, here, h in self._states(T):
            student, fields[t] = self._student(here), h
            table[:, t] = np.ravel([self._scores(student, x) for x in (h, self._fresh(here))], "F")
            if not np.isfinite(table[:, t]).all():
                raise self._diverged(t)
            weights[t, :, : here["rows"].shape[1]] = here["rows"]
            heads[t] = np.concatenate([here[name] for name in ("head", "bias", "offset")])
            overlaps.append(self.hard.flat if self.hard else np.zeros((0, 0)))
        hard = np.array(overlaps)
        flat = weights.reshape((T + 1) * m, -1)
        square = (flat @ flat.T).reshape(T + 1, m, T + 1, m).transpose(0, 2, 1, 3)
        response = hard[:, :, : hard.shape[1]] / self.start.init_scale
        return DmftPath(
            self.delta, self.training, table[0], table[1], table[2], table[3], square, weights[:, :, :k],
            hard @ hard.transpose(0, 2, 1), response, heads[:, :m], heads[:, m : 2 * m], heads[:, -1], times,
            self.start, self.sample, fields,
            None if self.training.full_batch else np.array(self.drawn, np.float32), self.frame.dropped,
        )  # fmt: skip

    def laws(self, times: Sequence[int]) -> Iterator[CurvatureLaw]:
        """Run to the last of some increasing steps; yield the law of the curvature at each of them."""
        for t, here, h in self._states(times[-1]):
            if t in times:
                D = self._student(here).curvature(self.sample.y, h)
                yield CurvatureLaw(D, self.sample.weight, self.sample.second)

    def rows(self) -> Iterator[np.ndarray]:
        """Run all steps; yield the first layer at each, of which the first columns are its overlaps."""
        for _, here, _ in self._states(self.steps):
            yield here["rows"]

    def _states(self, until: int) -> Iterator[tuple[int, dict[str, np.ndarray], np.ndarray]]:
        """Run; yield each step, the parameters there, and the samples' pre-activations."""
        factors = self.training.factors(self.steps)
        for t in range(until + 1):
            here = {name: state.position for name, state in self.state.items()}
            h = self._fields(here)
            if not np.abs(h).max() <= 1e6:
                raise self._diverged(t)
            self.start.require_weights(here["rows"], t)
            yield t, here, h
            if t < until:
                self.drawn.append(self.batches.drawn(t))
                self._step(self.drawn[-1], float(factors[t]), h)

    def _diverged(self, t: int) -> ValueError:
        return ValueError(
            f"step_size = {self.training.step_size}: gradient descent diverges at step {t}; take a smaller "
            "step"
        )

    def _student(self, at: dict[str, np.ndarray]) -> Student:
        return self.start if self.training.only_rows else self.start.moved(at["head"], at["offset"][0])

    def _fields(self, at: dict[str, np.ndarray]) -> np.ndarray:
        return self.frame.fields(at["rows"]).T + at["bias"]

    def _scores(self, student: Student, h: np.ndarray) -> tuple[float, float]:
        """Mean loss, and the share of wrong signs."""
        y, weight, f = self.sample.y, self.sample.weight, student.output(h)
        return float(weight @ student.penalty.value(y, f)), float(weight @ (np.sign(f) != np.sign(y)))

    def _fresh(self, at: dict[str, np.ndarray]) -> np.ndarray:
        """Pre-activations of samples that were not trained on: no memory."""
        k, m, W = self.sample.easy.shape[1], self.start.width, at["rows"]
        # of the rows' covariance, which is singular if a neuron is at rest
        root: np.ndarray = np.asarray(np.linalg.qr(W[:, k:].T, mode="r")).T
        root = root * np.where(np.diag(root) < 0, -1, 1)
        return (root @ self.frame.known[1 + k : 1 + k + m] + W[:, :k] @ self.sample.easy.T).T + at["bias"]

    def _step(self, drawn: np.ndarray | None, factor: float, fields: np.ndarray) -> None:
        """Move all parameters; `fields` are the samples' pre-activations where they stand."""
        training, steps = self.training, {
            "rows": self.training.step_size, "bias": self.training.bias_step,
            "head": self.training.second_layer_step, "offset": self.training.offset_step,
        }  # fmt: skip
        rules = {
            name: Rule(factor * step, training.momentum, training.nesterov) for name, step in steps.items()
        }
        at = {name: rules[name].ahead(state) for name, state in self.state.items()}
        h = self._fields(at) if training.nesterov else fields
        student, y, weight = self._student(at), self.sample.y, self.sample.weight
        share = None if drawn is None or self.batches.averaged else drawn  # of a batch averaged over as it is
        pull = student.force(y, h) if share is None else student.force(y, h) * share[:, None]
        if not training.only_rows:
            slope = student.penalty.first(y, student.output(h)) * (
                weight if share is None else weight * share
            )
            gradient = {
                "bias": weight @ pull, "head": slope @ student.sigma(h), "offset": np.array([slope.sum()]),
            }  # fmt: skip
            self.state |= {name: rules[name].moved(self.state[name], gradient[name]) for name in gradient}
        self._move_rows(np.ascontiguousarray(pull.T), drawn, rules["rows"])

    def _move_rows(self, psi: np.ndarray, drawn: np.ndarray | None, rule: Rule) -> None:
        """Move the first layer by its forces ψ (m, n), and with it the hard overlaps."""
        frame, before = self.frame, len(self.frame.forces)
        inner = (self.sample.weight * psi) @ frame.known.T
        drift = self.hard.drift(psi) if self.hard else 0.0
        factors = (
            frame.add_drawn(psi, inner, drawn, self.training.batch)
            if self.batches.averaged and drawn is not None
            else frame.add(psi, inner)
        )
        inner = frame.normals(inner)
        state = self.state["rows"].widened(frame.columns)
        gradient = self.start.ridge * rule.ahead(state)
        gradient[:, : inner.shape[1]] += inner
        gradient[:, frame.first - 1 :] += frame.shrink * factors
        self.state["rows"] = rule.moved(state, gradient)
        if self.hard:
            noise = (
                self.hard.noise_of_drawn(psi, factors, before, self.training.batch)
                if self.batches.averaged
                else self.hard.noise(factors)
            )
            pull = self.start.ridge * rule.ahead(self.hard.state) + drift + noise
            self.hard.move(pull, rule, self.state["rows"], factors, before)
