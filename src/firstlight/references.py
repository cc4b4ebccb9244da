"""What to cite: BibTeX by key, for the theories at hand and for the methods and images that are used.

A field that we do not know is left out, never guessed. An object says what it rests on with an attribute
``references``, a tuple of keys of `entries`; `cite` turns it into BibTeX.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from firstlight.maths.refusals import refusal


@dataclass(frozen=True)
class Entry:
    """One BibTeX entry.

    Attributes
    ----------
    kind : str
        BibTeX's entry type, such as ``"article"``.
    fields : tuple of (str, str)
        Names and values, in the order in which they are printed.
    """

    kind: str
    fields: tuple[tuple[str, str], ...]

    def bibtex(self, key: str) -> str:
        """Return the entry as BibTeX text, without a final newline."""
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields]
        return "\n".join([f"@{self.kind}{{{key},", *lines, "}"])


def entry(kind: str, **fields: str) -> Entry:
    """Return a BibTeX entry from its type and fields."""
    return Entry(kind, tuple(fields.items()))


ICLR = "International Conference on Learning Representations"
NIPS = "Advances in Neural Information Processing Systems"

METHODS: dict[str, Entry] = {
    "firstlight2026": entry(
        "misc",
        author="{the firstlight developers}",
        title="firstlight: when, and what, does a two-layer neural network learn first?",
        note="Software, version 0.1.0",
        year="2026",
    ),
    "zhai2019classification": entry(
        "inproceedings",
        author="Zhai, Andrew and Wu, Hao-Yu",
        title="Classification is a Strong Baseline for Deep Metric Learning",
        booktitle="British Machine Vision Conference",
        year="2019",
        eprint="1811.12649",
        archiveprefix="arXiv",
    ),
    "khosla2020supervised": entry(
        "inproceedings",
        author="Khosla, Prannay and Teterwak, Piotr and Wang, Chen and Sarna, Aaron and Tian, Yonglong and "
        "Isola, Phillip and Maschinot, Aaron and Liu, Ce and Krishnan, Dilip",
        title="Supervised Contrastive Learning",
        booktitle=NIPS,
        year="2020",
        eprint="2004.11362",
        archiveprefix="arXiv",
    ),
    "cho2009kernel": entry(
        "inproceedings",
        author="Cho, Youngmin and Saul, Lawrence K.",
        title="Kernel Methods for Deep Learning",
        booktitle=NIPS,
        volume="22",
        year="2009",
    ),
    "williams1997computing": entry(
        "inproceedings",
        author="Williams, Christopher K. I.",
        title="Computing with Infinite Networks",
        booktitle=NIPS,
        volume="9",
        year="1997",
    ),
    "tsuchida2021avoiding": entry(
        "inproceedings",
        author="Tsuchida, Russell and Pearce, Tim and van der Heide, Chris and Roosta, Fred "
        "and Gallagher, Marcus",
        title="Avoiding Kernel Fixed Points: Computing with {ELU} and {GELU} Infinite Networks",
        booktitle="Proceedings of the AAAI Conference on Artificial Intelligence",
        volume="35",
        year="2021",
    ),
    "stefanski1991normal": entry(
        "article",
        author="Stefanski, Leonard A.",
        title="A normal scale mixture representation of the logistic distribution",
        journal="Statistics \\& Probability Letters",
        volume="11",
        year="1991",
    ),
    "mehler1866entwicklung": entry(
        "article",
        author="Mehler, F. G.",
        title='{\\"U}ber die Entwicklung einer Function von beliebig vielen Variablen nach '
        '{Laplaceschen} Functionen h{\\"o}herer Ordnung',
        journal='Journal f{\\"u}r die reine und angewandte Mathematik',
        volume="66",
        pages="161--176",
        year="1866",
    ),
    "lecun1998mnist": entry(
        "article",
        author="LeCun, Yann and Bottou, L{\\'e}on and Bengio, Yoshua and Haffner, Patrick",
        title="Gradient-Based Learning Applied to Document Recognition",
        journal="Proceedings of the IEEE",
        volume="86",
        number="11",
        pages="2278--2324",
        year="1998",
    ),
    "xiao2017fashion": entry(
        "misc",
        author="Xiao, Han and Rasul, Kashif and Vollgraf, Roland",
        title="Fashion-{MNIST}: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        year="2017",
        eprint="1708.07747",
        archiveprefix="arXiv",
    ),
    "alpaydin1998digits": entry(
        "misc",
        author="Alpaydin, E. and Kaynak, C.",
        title="Optical Recognition of Handwritten Digits",
        howpublished="UCI Machine Learning Repository",
        year="1998",
    ),
}


def entries() -> dict[str, Entry]:
    """Return everything that can be cited, by key: the theories' own references, then methods and images.

    Examples
    --------
    >>> {"demir2025onestep", "cho2009kernel"} <= set(entries())
    True
    """
    from firstlight.study.registry import theories

    own = [theory.references for theory in theories().values()]
    return {key: entry for group in (*own, METHODS) for key, entry in group.items()}


def keys_of(thing: Any) -> tuple[str, ...]:
    """Find the BibTeX keys that belong to a name or an object.

    Parameters
    ----------
    thing : str or object
        A key of `entries`; a theory's name; ``"firstlight"``; or anything with an attribute ``references``
        that holds keys: a problem or its class, an activation, a function.

    Examples
    --------
    >>> keys_of("early_alignment")
    ('min2024early', 'min2025collapse')
    """
    from firstlight.study.registry import theories

    if isinstance(thing, str):
        name = thing.strip().lower().replace("-", "_")
        if name in entries():
            return (name,)
        if name in theories():
            return tuple(theories()[name].references)
        if name == "firstlight":
            return ("firstlight2026",)
        known = [*entries(), *theories()]
        close = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known names: {', '.join(known)}"
        raise ValueError(f"name = {thing!r}: nothing to cite by that name; {hint}")
    references = getattr(thing, "references", None)
    keys = (references,) if isinstance(references, str) else references
    if not isinstance(keys, (tuple, list)):
        raise refusal("thing", thing, "be a key, a theory's name or an object with `references`")
    if unknown := [key for key in keys if key not in entries()]:
        raise ValueError(f"references = {unknown!r} of {thing!r}: unknown BibTeX keys")
    return tuple(keys)


def bibtex(keys: Iterable[str]) -> str:
    """Return the entries of some keys as BibTeX text, each once, in the order given.

    Examples
    --------
    >>> print(bibtex(["cho2009kernel", "cho2009kernel"]))
    @inproceedings{cho2009kernel,
      author = {Cho, Youngmin and Saul, Lawrence K.},
      title = {Kernel Methods for Deep Learning},
      booktitle = {Advances in Neural Information Processing Systems},
      volume = {22},
      year = {2009},
    }
    """
    return "\n\n".join(entries()[key].bibtex(key) for key in dict.fromkeys(keys))


def cite(thing: Any = None) -> str:
    """Return what to cite, as BibTeX.

    Parameters
    ----------
    thing : str or object, optional
        What was used: a key, a theory's name (its source), or an object that names its ``references``: a
        problem, its class or an activation. Without it: everything that the library knows.

    Returns
    -------
    str
        BibTeX entries, separated by blank lines; empty for an object whose ``references`` are empty.

    Examples
    --------
    >>> print(cite("montanari2026phase"))
    @misc{montanari2026phase,
      author = {Montanari, Andrea and Wang, Zihao},
      title = {Phase Transitions for Feature Learning in Neural Networks},
      year = {2026},
      eprint = {2602.01434},
      archiveprefix = {arXiv},
    }
    """
    return bibtex(entries() if thing is None else keys_of(thing))
