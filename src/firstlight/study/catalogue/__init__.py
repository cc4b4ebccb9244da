"""The catalogue: the studies that reproduce the papers' figures, in ``studies.py`` of each theory.

Each such module defines ``STUDIES``, a tuple of `Study`. Problems are named by address, so listing the
catalogue loads no theory.
"""

import json
from importlib import import_module
from pathlib import Path

from firstlight.maths.checks import unknown
from firstlight.study.sweep import Study

FEATURED = (
    "one-step/width",
    "one-step/degree",
    "one-step/fashion-mnist-0-1",
    "early-alignment/toy",
    "early-alignment/two-points",
    "early-alignment/mnist-0-1",
    "phase/delta-alg",
    "phase/hessian-spectrum",
    "phase/dmft-vs-gd",
    "phase/size",
    "unseen/alignment-vs-similarity",
    "unseen/recall-vs-similarity",
    "unseen/digits-pairs",
)
"""The studies of the short report: together a few minutes at the quick scale."""

COSTS = Path(__file__).with_name("costs.json")
"""Seconds on one core by study and scale, as dry runs on the machine of `make costs` said."""


def costs() -> dict[str, dict[str, float]]:
    """Return about how long each study takes on one core, by name and scale, without running anything.

    Returns
    -------
    dict of str to dict of str to float
        Seconds; a study that was never timed is absent. A dry run says it for the machine at hand.

    Examples
    --------
    >>> 0 < costs()["one-step/width"]["quick"] < costs()["one-step/width"]["paper"]
    True
    """
    found: dict[str, dict[str, float]] = json.loads(COSTS.read_text(encoding="utf-8"))
    return found


def catalogue() -> dict[str, Study]:
    """Collect the studies of all rooms, by name, in the rooms' own order.

    Returns
    -------
    dict of str to Study

    Examples
    --------
    >>> all(name == study.name for name, study in catalogue().items())
    True
    """
    studies: dict[str, Study] = {}
    for theory in ("early_alignment", "one_step", "phase_transition", "unseen_classes"):
        for study in import_module(f"firstlight.{theory}.studies").STUDIES:
            if study.name in studies:
                raise ValueError(f"name = {study.name!r}: two studies of the catalogue share it")
            studies[study.name] = study
    return studies


def find(name: str) -> Study:
    """Return one study of the catalogue; an unknown name gets a hint.

    Parameters
    ----------
    name : str
        Such as ``"one_step/ridge"``.

    Returns
    -------
    Study

    Examples
    --------
    >>> find("no/such-study")
    Traceback (most recent call last):
    ...
    ValueError: study 'no/such-study': unknown ...
    """
    studies = catalogue()
    if name not in studies:
        raise unknown("study", name, studies)
    return studies[name]
