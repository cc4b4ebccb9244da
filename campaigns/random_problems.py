"""Random problems of every theory through `predict` and `simulate`: numbers that carry a flag, or a refusal.

    python campaigns/random_problems.py [--count 1000] [--only one_step] [--log out/problems.jsonl]

Every registered factory gets random arguments of small size, right ones and a few too many, and so do
problems of one's own arrays. What is built must answer with numbers, or with NaN where ``converged`` is
False, where a note or a warning says that this is not told (`SAID`), or where the documentation says what it
means (`NAN`), or with an infinity that has a meaning (`INFINITE`); or refuse with a ValueError that names a
field. Failures are other exceptions, NaN without a flag, NumPy's own warnings, more than 20 s of CPU time or
2 GB in one call, and dying. Exit code 1 if there is any.
"""

import dataclasses
import functools
import inspect
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from endurance import arguments, campaign, limits
from random_arguments import ALWAYS, FACTORIES, SCALED, SELDOM, Fields
from random_data import Rng, prepare, targets

from firstlight import early_alignment, one_step
from firstlight.data.cache import ImagesNotFetched
from firstlight.data.labels import Classification, Regression
from firstlight.maths.activations import activation
from firstlight.study.problem import cost_of
from firstlight.study.registry import problem as registered
from firstlight.study.registry import resolve, theories
from firstlight.unseen_classes.definitions.observables import RELATIONS

# NaN with a meaning, as docstrings have it, though a prediction has converged
_RANKS = {"spearman", "spearman_by_set", "spearman_low", "spearman_high", "kendall_w"}  # of constant scores
_CLASSES = {"snr", *_RANKS, *RELATIONS}  # snr: no rest can be told
_COSINES = {f"cosine_{sign}{end}" for sign in ("plus", "minus") for end in ("", "_min")}  # no neuron is left
_EMPTY = {f"{name}_{sign}" for name in ("margin", "output") for sign in ("plus", "minus")}  # no such datum
_SWITCHES = {"switches", "wrong_switches"}  # counted by gradient flow alone
_GAPS = {"threshold", "edge"}  # steps at which the scan found none
NAN: dict[str, set[str]] = {
    "early_alignment predict": {"alignment_time", *_SWITCHES, *_COSINES},
    "early_alignment simulate": {"alignment_time", *_SWITCHES, *_COSINES, *_EMPTY},
    "phase_transition predict": {"escape_time", "hidden_eigenvalue", "delta_nn", *_GAPS},
    "phase_transition simulate": {"escape_time", "hidden_eigenvalue", "delta_nn", "delta_over_alg"},
    "unseen_classes predict": _CLASSES,
    "unseen_classes simulate": _CLASSES,
}
# infinity with a meaning: never, or nothing beside it
INFINITE: dict[str, set[str]] = {
    "phase_transition predict": {"delta_alg", "error", "signal", "delta_over_alg", "escape_time"},
    "phase_transition simulate": {"escape_time"},
    "unseen_classes predict": {"snr"},
    "unseen_classes simulate": {"snr"},
}
NOT_PREDICTED = {"gradient_norm", "hard_cosine"}  # of phases: NaN everywhere, and not only here and there
# what a note or a warning says is not told
SAID = {
    "label_variance: not told": r"label_variance",
    "misclassification: not told": r"misclassification",
    "one draw: its standard error is not known": r".*_sem",
    "the limit of the loss is told from t = e on": r"(log_)?loss",
}
NEVER_NEGATIVE = re.compile(
    r"(relative_)?(test|train)_(error|loss)(_by_class)?|(?!log_).*norm|.*_sem|.*_time|recall"
)


def chosen(rng: Rng, values: Any) -> Any:
    """Return one of a list's values, or what a function draws that is given or stands there."""
    value = values if callable(values) else values[int(rng.integers(len(values)))]
    return value(rng) if inspect.isfunction(value) or isinstance(value, functools.partial) else value


def own_activation(z: np.ndarray) -> np.ndarray:
    """Return a smooth function that is none of the built-in ones."""
    return np.tanh(z) + 0.2 * z**2


def own_kink(z: np.ndarray) -> np.ndarray:
    """Return a function with two kinks."""
    return np.clip(z, -1, 1)


def drawn(name: str, seed: int) -> tuple[Callable[..., Any], Fields, Fields, Fields]:
    """Draw a factory's arguments, and the options of predict and of simulate."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    needed, others, *options = FACTORIES[name]
    share = rng.choice([0.1, 0.3, 0.7])

    def some(fields: Fields, share: float) -> Fields:
        return {name: chosen(rng, values) for name, values in fields.items() if rng.random() < share}

    fields = {**some(others, share), **some(needed, 1.0)}
    if "target" in fields:  # neighbours share it: what takes longest, its analysis, is kept in memory
        fields["target"] = targets(np.random.default_rng(seed // 8))
    if fields.get("activation") in ("linear", "cos") and rng.random() < 0.5:  # often refused
        fields["activation"] = activation(own_activation if rng.random() < 0.5 else own_kink)
    predict, simulate = (
        {name: chosen(rng, values) for name, values in option.items() if name in ALWAYS or rng.random() < 0.5}
        for option in options
    )
    if simulate.get("method") == "descent":  # of few steps: millions are no small problem
        fields["step_size"] = max(fields.get("step_size", 2e-3), fields["horizon"] / 50_000)
    return _built_by(name, fields, rng), fields, predict, simulate


def _built_by(name: str, fields: Fields, rng: Rng) -> Callable[..., Any]:
    """Return the factory; arguments that only it takes are put in place."""
    theory, _, kind = name.partition(".")
    if kind == "from_data":
        fields["X"], fields["y"] = fields["X"]
        return {"one_step": one_step, "early_alignment": early_alignment}[theory].Problem.from_data
    if kind == "Problem":
        n, classes = fields["mixture"].dimension, fields["mixture"].classes
        link = str(rng.choice(SCALED["link"]))
        direction = rng.normal(size=n) / np.sqrt(n)
        several = classes > 1 and rng.random() < 0.5
        fields["labels"] = Classification() if several else Regression(direction, link)
        return one_step.Problem
    return resolve(registered(name)[1])


def _later(known: xr.DataArray) -> xr.DataArray:
    """Say where something is known at some later time."""
    backwards = known.isel(time=slice(None, None, -1))
    return (backwards.cumsum("time") > 0).isel(time=slice(None, None, -1))


def _unexplained(what: str, name: str, values: xr.DataArray, said: Iterable[str]) -> xr.DataArray:
    """Say where a variable is not finite without a documented reason, `converged` left aside."""
    own = name.removesuffix("_sem")
    nan, infinite = own in NAN.get(what, ()), own in INFINITE.get(what, ())
    if own != name:  # the error of what may be missing, or endless, in some samples
        nan = infinite = nan or infinite
    texts = " ".join(said)
    nan = nan or any(re.fullmatch(names, name) and text in texts for text, names in SAID.items())
    nan = nan or (
        what == "phase_transition predict" and name in NOT_PREDICTED and bool(values.isnull().all())
    )
    if name == "separability":  # of a class from the others
        values = values.where(values["class"] != values["other"], 0.0)
    return (values.isnull() & (not nan)) | (np.isinf(values) & (not infinite))


def _trained(variables: Iterable[xr.DataArray]) -> xr.DataArray:
    """Say of which classes there is no value at all."""
    missing = [one.isnull() for one in variables if "class" in one.dims and "other" not in one.dims]
    return functools.reduce(lambda a, b: a & b, missing)


def silent(what: str, answer: xr.Dataset, said: Iterable[str] = ()) -> str:
    """Return the variables that are impossible, or not finite where nothing says so; `said`: the warnings."""
    wrong = []
    told = [*said, str(answer.attrs.get("note", ""))]
    numbers = {str(name): values for name, values in answer.data_vars.items() if values.dtype.kind == "f"}
    for name, values in numbers.items():
        if NEVER_NEGATIVE.fullmatch(name) and (values.values < 0).any():
            wrong.append(f"{name} < 0")
        if np.isfinite(values.values).all():
            continue
        bad = _unexplained(what, name, values, told)
        if what == "early_alignment predict" and "time" in values.dims:  # known up to some time
            bad = bad & _later(~bad)
        if "converged" in answer:
            bad = bad & answer["converged"]
        if name.startswith("relative"):
            bad = bad & (answer["label_variance"] > 0)
        if "class" in values.dims:  # classes that were trained on have no values at all
            bad = bad & ~_trained(numbers.values())
            if "other" in values.dims:
                bad = bad & ~_trained(numbers.values()).rename({"class": "other"})
        if bool(bad.any()):
            wrong.append(name)
    return ", ".join(wrong)


def names_field(error: Exception, call: Callable[..., Any], fields: Iterable[str]) -> bool:
    """Say whether a refusal names one of the fields or options."""
    owner = getattr(call, "__self__", None)  # of predict: the problem, whose fields it may name
    own = [item.name for item in dataclasses.fields(owner)] if dataclasses.is_dataclass(owner) else []
    known = {*fields, *inspect.signature(call).parameters, *own, "not installed", "not in the cache"}
    return any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in known)


def judged(
    theory: str, kind: str, call: Callable[..., Any], fields: Fields, known: Iterable[str] = ()
) -> tuple[Any, str]:
    """Make a call; return what it gave, or None, and what is wrong with that."""
    limits()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            answer = call(**fields)
        except (ValueError, ImagesNotFetched) as error:
            named = names_field(error, call, [*fields, *known])
            return None, "" if named else f"{kind}: not named: {str(error)[:300]}"
        except Exception as error:
            return None, f"{kind}: {type(error).__name__}: {str(error)[:300]}"
    numeric = [str(one.message) for one in told if issubclass(one.category, RuntimeWarning)]
    if numeric:
        return answer, f"{kind}: warning: {numeric[0]}"
    said = [str(one.message) for one in told if issubclass(one.category, UserWarning)]
    wrong = silent(f"{theory} {kind}", answer, said) if isinstance(answer, xr.Dataset) else ""
    return answer, f"{kind}: silent: {wrong}" if wrong else ""


def work(case: list) -> str:
    """Build one problem and ask it everything."""
    prepare()
    name, seed = case
    theory = name.partition(".")[0]
    call, fields, predict, simulate = drawn(name, seed)
    problem, failure = judged(theory, "build", call, fields, {**FACTORIES[name][0], **FACTORIES[name][1]})
    if problem is None:
        return f"{failure} <- {fields}" if failure else ""
    failures = []
    for kind, method, options in (
        ("predict", problem.predict, {"rng": seed, **predict}),
        ("simulate", problem.simulate, {"rng": seed, **simulate}),
        ("assumptions", problem.assumptions, {}),
        ("cost", lambda: [cost_of(problem, "predict", predict), cost_of(problem, "simulate", simulate)], {}),
    ):
        failure = judged(theory, kind, method, options)[1]
        if failure:
            failures.append(f"{failure} <- {options}")
    return "; ".join([*failures, f"<- {fields}"]) if failures else ""


def cases(options: Any) -> Iterator[list]:
    """Yield every factory with one seed after another; slow ones with some seeds only."""
    known = {f"{theory.name}.{name}" for theory in theories().values() for name in theory.problems}
    if missing := known - set(FACTORIES):
        raise SystemExit(f"no arguments are known for {', '.join(sorted(missing))}")
    for seed in range(options.first, options.first + options.count):
        yield from (
            [name, seed]
            for name in FACTORIES
            if name.startswith(options.only) and seed % SELDOM.get(name, 1) == 0
        )


if __name__ == "__main__":
    parser = arguments(__doc__, 1000)
    parser.add_argument("--only", default="", help="factories whose name begins so, such as one_step")
    given = parser.parse_args()
    sys.exit(campaign(work, cases(given), given))
