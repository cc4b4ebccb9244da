"""A safe parser for target functions that a user types, such as ``z1*z2 + sign(z3)``.

The text becomes a Python syntax tree, and every node of it must be on the whitelist below; the tree is then
turned into nested NumPy calls. Nothing is ever evaluated as Python code.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import refusal

Array = np.ndarray
Law = Callable[[Array], Array]

MAX_LENGTH = 2000
MAX_DEPTH = 100
MAX_POWER = 16

CONSTANTS = {"pi": np.asarray(np.pi), "e": np.asarray(math.e)}
OPERATORS = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
COMPARISONS = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal}
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "erf": special.erf,
    "relu": lambda z: np.maximum(z, 0.0),
    "sigmoid": special.expit,
    "softplus": lambda z: np.logaddexp(z, 0.0),
    "step": lambda z: np.greater(z, 0.0).astype(float),
    "He2": lambda z: z**2 - 1.0,
    "He3": lambda z: z * z * z - 3.0 * z,
    "He4": lambda z: (z * z) * (z * z) - 6.0 * (z * z) + 3.0,
}
ONE_TO_ONE = {"sqrt", "exp", "log", "tanh", "erf", "sigmoid", "softplus"}
FOLDS: dict[str, Callable[[Array, Array], Array]] = {"max": np.maximum, "min": np.minimum}
CHOICE = "where"
GRAMMAR = (
    "allowed are numbers, z1 to z9, pi, e, + - * / **, < <= > >=, brackets, and the functions "
    + ", ".join([*FUNCTIONS, *FOLDS, CHOICE])
)


@dataclass(frozen=True, eq=False)
class Formula(ByValue):
    """A function of the hidden coordinates z1, ..., z9, given as text.

    Parameters
    ----------
    text : str
        Numbers, ``z1`` to ``z9``, ``pi``, ``e``, ``+ - * /``, powers with a constant exponent (a multiple of
        1/2, at most 16 in size), comparisons (1 where true, 0 where false), brackets, the functions abs,
        sign, floor, sqrt, exp, log, sin, cos, tan, tanh, erf, relu, sigmoid, softplus, step (1 where
        positive), the Hermite polynomials He2, He3, He4, max, min of two or more arguments, and where(test,
        a, b): a where the test is not zero, b elsewhere. At most 2000 characters, nested at most 100 deep. At
        least one of z1, ..., z9 must occur.

    Examples
    --------
    >>> f = Formula("z1*z2 + sign(z3)")
    >>> f.arity
    3
    >>> f(np.array([[2.0, 3.0, -1.0], [0.5, 4.0, 2.0]]))
    array([5., 3.])
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise refusal("target", self.text, "be a text such as 'z1*z2 + sign(z3)'")
        object.__setattr__(self, "text", self.text.strip())
        self._run  # noqa: B018 - a bad text is refused now, not at the first call
        if self.arity == 0:
            raise ValueError(f"{_about(self.text)}: a target must use at least one of z1, ..., z9")

    @cached_property
    def arity(self) -> int:
        """The highest index that occurs."""
        names = [node.id for node in ast.walk(_tree(self.text)) if isinstance(node, ast.Name)]
        return max((int(name[1]) for name in names if _is_coordinate(name)), default=0)

    @cached_property
    def core(self) -> "Formula":
        """The formula without its outer one-to-one functions: as a label it tells the same about z.

        Examples
        --------
        >>> print(Formula("1 - 3*tanh(5*(z1*z2)**3)").core)
        z1 * z2
        """
        tree = _tree(self.text)
        while (inner := _argument(tree)) is not None:
            tree = inner
        return Formula(ast.unparse(tree))

    @property
    def tree(self) -> ast.expr:
        """The syntax tree."""
        return _tree(self.text)

    @cached_property
    def _run(self) -> Law:
        return _Compiler(self.text).build(self.tree, 0)

    def __call__(self, z: ArrayLike) -> Array:
        """Evaluate at points `z` of shape (..., k), k at least `arity`; returns shape (...)."""
        with np.errstate(all="ignore"):  # infinities and NaNs are judged by the caller, on the values
            return self._run(np.asarray(z, dtype=float))

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type["Formula"], tuple[str]]:
        return Formula, (self.text,)


def _is_coordinate(name: str) -> bool:
    return re.fullmatch("z[1-9]", name) is not None


def coordinate_of(name: str) -> int:
    """Return the place of a coordinate among the hidden ones, from 0."""
    return int(name[1]) - 1


def _argument(node: ast.expr) -> ast.expr | None:
    """Return what a one-to-one function on top of the tree is applied to, or None if there is no such."""
    match node:
        case ast.UnaryOp():
            return node.operand
        case ast.Call(func=ast.Name(id=name)) if name in ONE_TO_ONE:
            return node.args[0]
        case ast.BinOp(op=ast.Pow()):
            odd_or_root = constant_of(node.right) % 2 != 0
            return node.left if odd_or_root else None
        case ast.BinOp():
            for side, other in ((node.left, node.right), (node.right, node.left)):
                value = constant_of(side)
                if np.isfinite(value) and (value != 0 or isinstance(node.op, ast.Add | ast.Sub)):
                    return other
    return None


def constant_of(node: ast.expr) -> float:
    """Return the value of a node without coordinates; NaN if it has some."""
    if any(isinstance(n, ast.Name) and _is_coordinate(n.id) for n in ast.walk(node)):
        return np.nan
    with np.errstate(all="ignore"):
        return float(_Compiler("").build(node, 0)(np.zeros(1)))


def _whole_power(base: Array, exponent: int) -> Array:
    """Multiply by squaring: a hundred times as fast as `np.power`, whose short cuts end with squares."""
    if exponent == 1:
        return base
    half = _whole_power(base, exponent // 2)
    return half * half * base if exponent % 2 else half * half


def _about(text: str) -> str:
    return f"target = {text if len(text) <= 60 else text[:57] + '...'!r}"


def _tree(text: str) -> ast.expr:
    """Parse, refusing first what could exhaust Python's own parser."""
    if not text:
        raise ValueError("target = '': empty; give a function such as 'z1*z2 + sign(z3)'")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{_about(text)}: {len(text)} characters, at most {MAX_LENGTH} are allowed")
    depth = np.cumsum([(c in "([{") - (c in ")]}") for c in text]).max()
    if depth > MAX_DEPTH:
        raise ValueError(f"{_about(text)}: brackets nested {depth} deep, at most {MAX_DEPTH} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        where = f" near character {error.offset}" if error.offset else ""
        raise ValueError(f"{_about(text)}: cannot be read{where}: {error.msg}") from None
    except (ValueError, Warning, RecursionError, MemoryError) as error:
        raise ValueError(f"{_about(text)}: cannot be read ({type(error).__name__})") from None


class _Compiler:
    """Turn a whitelisted syntax tree into nested NumPy calls."""

    def __init__(self, text: str) -> None:
        self.about = _about(text)

    def refuse(self, reason: str) -> ValueError:
        return ValueError(f"{self.about}: {reason}")

    def build(self, node: ast.expr, depth: int) -> Law:
        """Return the function of z that a node stands for."""
        if depth > MAX_DEPTH:
            raise self.refuse(f"nested deeper than {MAX_DEPTH}; each term of a sum counts")
        match node:
            case ast.Constant():
                value = self.number(node)
                return lambda z: value
            case ast.Name():
                return self.name(node.id)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                inner = self.build(node.operand, depth + 1)
                return (lambda z: -inner(z)) if isinstance(node.op, ast.USub) else inner
            case ast.BinOp(op=ast.Pow()):
                return self.power(node, depth)
            case ast.BinOp(op=ast.BitXor()):
                raise self.refuse("write powers as **, not ^")
            case ast.BinOp() if type(node.op) in OPERATORS:
                operator = OPERATORS[type(node.op)]
                left, right = self.build(node.left, depth + 1), self.build(node.right, depth + 1)
                return lambda z: operator(left(z), right(z))
            case ast.Compare() if all(type(op) in COMPARISONS for op in node.ops):
                return self.comparison(node, depth)
            case ast.Call():
                return self.call(node, depth)
        raise self.refuse(f"{_WORDS.get(type(node), type(node).__name__)} not allowed; {GRAMMAR}")

    def number(self, node: ast.Constant) -> Array:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise self.refuse(f"the constant {node.value!r:.40} is not a real number; {GRAMMAR}")
        try:
            value = float(node.value)
        except OverflowError:
            value = np.inf
        if not np.isfinite(value):
            raise self.refuse("holds a number too large for double precision")
        return np.asarray(value)

    def name(self, name: str) -> Law:
        if _is_coordinate(name):
            index = coordinate_of(name)
            return lambda z: z[..., index]
        if name in CONSTANTS:
            return lambda z: CONSTANTS[name]
        if re.fullmatch(r"z\d+", name):
            raise self.refuse(f"unknown coordinate {name}; they are z1, ..., z9")
        if name in (*FUNCTIONS, *FOLDS, CHOICE):
            raise self.refuse(f"{name} is a function; write {name}(...)")
        raise self.refuse(f"unknown name {name!r:.40}; {GRAMMAR}")

    def power(self, node: ast.BinOp, depth: int) -> Law:
        base, exponent, sign = self.build(node.left, depth + 1), node.right, 1.0
        while isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
            exponent, sign = exponent.operand, -sign
        if not isinstance(exponent, ast.Constant):
            raise self.refuse("an exponent must be a plain number; write exp(b*log(a)) for a**b")
        value = sign * float(self.number(exponent))
        if abs(value) > MAX_POWER or not (2 * value).is_integer():
            raise self.refuse(
                f"exponent = {value:g}: must be a multiple of 1/2 between -{MAX_POWER} and {MAX_POWER}"
            )
        if value > 2 and value.is_integer():
            return lambda z: _whole_power(base(z), int(value))
        return lambda z: np.power(base(z), value)

    def comparison(self, node: ast.Compare, depth: int) -> Law:
        terms = [self.build(term, depth + 1) for term in (node.left, *node.comparators)]
        tests = [COMPARISONS[type(op)] for op in node.ops]

        def run(z: Array) -> Array:
            values = [term(z) for term in terms]
            holds = [test(a, b) for test, a, b in zip(tests, values, values[1:], strict=False)]
            return np.asarray(reduce(np.logical_and, holds), dtype=float)

        return run

    def call(self, node: ast.Call, depth: int) -> Law:
        if not isinstance(node.func, ast.Name) or node.func.id not in (*FUNCTIONS, *FOLDS, CHOICE):
            shown = ast.unparse(node.func)[:40]
            raise self.refuse(f"{shown!r} is not a known function; {GRAMMAR}")
        name = node.func.id
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.refuse(f"{name} takes plain arguments only")
        arguments = [self.build(argument, depth + 1) for argument in node.args]
        if name in FUNCTIONS:
            if len(arguments) != 1:
                raise self.refuse(f"{name} takes one argument, not {len(arguments)}")
            function, inner = FUNCTIONS[name], arguments[0]
            return lambda z: function(inner(z))
        if name == CHOICE:
            if len(arguments) != 3:
                raise self.refuse(f"{name} takes a test and two values, not {len(arguments)} arguments")
            test, one, other = arguments
            return lambda z: np.where(test(z) != 0, one(z), other(z))
        if len(arguments) < 2:
            raise self.refuse(f"{name} takes two or more arguments, not {len(arguments)}")
        return lambda z: reduce(FOLDS[name], [argument(z) for argument in arguments])


_WORDS: dict[type[ast.expr], str] = {
    ast.Attribute: "a dot (attribute) is",
    ast.Subscript: "square brackets (indexing) are",
    ast.Lambda: "a lambda is",
    ast.IfExp: "if-else is",
    ast.BoolOp: "and/or is",
    ast.UnaryOp: "that operator is",
    ast.BinOp: "that operator is",
    ast.Compare: "that comparison is",
    ast.Tuple: "a comma outside a function is",
    ast.List: "a list is",
    ast.NamedExpr: "an assignment is",
}
