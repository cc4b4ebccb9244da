"""Which linear forms of the hidden coordinates a formula is made of: outside their span it is constant."""

import ast

import numpy as np

from firstlight.data.parser import constant_of, coordinate_of


def linear_forms(tree: ast.expr, directions: int) -> list[np.ndarray]:
    """Return linear forms (k,) such that the formula is a function of them: its largest linear parts.

    Examples
    --------
    >>> [form.tolist() for form in linear_forms(ast.parse("z1 + z2 + abs(2*z2 - z1)", mode="eval").body, 2)]
    [[1.0, 1.0], [-1.0, 2.0]]
    >>> linear_forms(ast.parse("0*sign(z1)", mode="eval").body, 1)
    []
    """
    linear, rest = np.zeros(directions), []
    for sign, term in _terms(tree, 1.0):
        form = _linear(term, directions)
        if form is not None:
            linear = linear + sign * form
        elif not _vanishes(term):
            inner = term.args if isinstance(term, ast.Call) else ast.iter_child_nodes(term)
            children = [node for node in inner if isinstance(node, ast.expr)]
            rest += [one for node in children for one in linear_forms(node, directions)]
    return [linear, *rest] if linear.any() else rest


def _terms(node: ast.expr, sign: float) -> list[tuple[float, ast.expr]]:
    """Return the terms of a sum with their signs."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            second = -sign if isinstance(node.op, ast.Sub) else sign
            return [*_terms(node.left, sign), *_terms(node.right, second)]
        case ast.UnaryOp(op=ast.USub()):
            return _terms(node.operand, -sign)
        case ast.UnaryOp():
            return _terms(node.operand, sign)
    return [(sign, node)]


def _linear(node: ast.expr, directions: int) -> np.ndarray | None:
    """Return the coefficients of what is linear in the coordinates, up to a constant; None if it is not."""
    if not np.isnan(constant_of(node)):
        return np.zeros(directions)
    match node:
        case ast.Name(id=name):
            return np.eye(directions)[coordinate_of(name)]
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.UnaryOp():
            parts = [(sign, _linear(term, directions)) for sign, term in _terms(node, 1.0)]
            known = [sign * form for sign, form in parts if form is not None]
            return np.sum(known, axis=0) if len(known) == len(parts) else None
        case ast.BinOp(op=ast.Mult()):
            factors = constant_of(node.left), constant_of(node.right)
            other = node.left if np.isnan(factors[0]) else node.right
            form = _linear(other, directions) if np.isfinite(factors).any() else None
            return None if form is None else form * np.nansum(factors)
        case ast.BinOp(op=ast.Div()) if np.isfinite(constant_of(node.right)):
            form = _linear(node.left, directions)
            return None if form is None else form / constant_of(node.right)
    return None


def _vanishes(term: ast.expr) -> bool:
    """Tell whether a product has a factor zero."""
    match term:
        case ast.BinOp(op=ast.Mult()):
            return any(constant_of(side) == 0 or _vanishes(side) for side in (term.left, term.right))
    return False
