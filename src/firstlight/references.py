"""What to cite: BibTeX by key, for the four sources and for the methods and images that are used.

A field that we do not know is left out, never guessed. An object says what it rests on with an attribute
``references``, a tuple of keys of `ENTRIES`; `cite` turns it into BibTeX.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any


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


def _entry(kind: str, **fields: str) -> Entry:
    return Entry(kind, tuple(fields.items()))


_ICLR = "International Conference on Learning Representations"
_NIPS = "Advances in Neural Information Processing Systems"

ENTRIES: dict[str, Entry] = {
    "demir2025onestep": _entry(
        "inproceedings",
        author="Demir, Samet and Dogan, Zafer",
        title="Asymptotic Analysis of Two-Layer Neural Networks after One Gradient Step "
        "under {Gaussian} Mixtures Data with Structure",
        booktitle=_ICLR,
        year="2025",
        eprint="2503.00856",
        archiveprefix="arXiv",
    ),
    "min2024early": _entry(
        "inproceedings",
        author="Min, Hancheng and Mallada, Enrique and Vidal, Ren{\\'e}",
        title="Early Neuron Alignment in Two-layer {ReLU} Networks with Small Initialization",
        booktitle=_ICLR,
        year="2024",
        eprint="2307.12851",
        archiveprefix="arXiv",
    ),
    "montanari2026phase": _entry(
        "misc",
        author="Montanari, Andrea and Wang, Zihao",
        title="Phase Transitions for Feature Learning in Neural Networks",
        year="2026",
        eprint="2602.01434",
        archiveprefix="arXiv",
    ),
    "unseen2025emergence": _entry(
        "misc",
        title="Emergence of Alignment and Local Elasticity in Two-Layer Neural Networks",
        howpublished=f"Submission to the {_ICLR}",
        year="2025",
    ),
    "min2025collapse": _entry(
        "inproceedings",
        author="Min, Hancheng and Zhu, Zhihui and Vidal, Ren{\\'e}",
        title="Neural Collapse under Gradient Flow on Shallow {ReLU} Networks "
        "for Orthogonally Separable Data",
        booktitle=_NIPS,
        year="2025",
        eprint="2510.21078",
        archiveprefix="arXiv",
    ),
    "cui2024asymptotics": _entry(
        "inproceedings",
        author="Cui, Hugo and Pesce, Luca and Dandi, Yatin and Krzakala, Florent and Lu, Yue M. "
        "and Zdeborov{\\'a}, Lenka and Loureiro, Bruno",
        title="Asymptotics of Feature Learning in Two-Layer Networks after One Gradient-Step",
        booktitle="International Conference on Machine Learning",
        year="2024",
        eprint="2402.04980",
        archiveprefix="arXiv",
    ),
    "moniri2024theory": _entry(
        "inproceedings",
        author="Moniri, Behrad and Lee, Donghwan and Hassani, Hamed and Dobriban, Edgar",
        title="A Theory of Non-Linear Feature Learning with One Gradient Step in Two-Layer Neural Networks",
        booktitle="International Conference on Machine Learning",
        year="2024",
        eprint="2310.07891",
        archiveprefix="arXiv",
    ),
    "he2020elasticity": _entry(
        "inproceedings",
        author="He, Hangfeng and Su, Weijie J.",
        title="The Local Elasticity of Neural Networks",
        booktitle=_ICLR,
        year="2020",
        eprint="1910.06943",
        archiveprefix="arXiv",
    ),
    "zhai2019classification": _entry(
        "inproceedings",
        author="Zhai, Andrew and Wu, Hao-Yu",
        title="Classification is a Strong Baseline for Deep Metric Learning",
        booktitle="British Machine Vision Conference",
        year="2019",
        eprint="1811.12649",
        archiveprefix="arXiv",
    ),
    "khosla2020supervised": _entry(
        "inproceedings",
        author="Khosla, Prannay and Teterwak, Piotr and Wang, Chen and Sarna, Aaron and Tian, Yonglong and "
        "Isola, Phillip and Maschinot, Aaron and Liu, Ce and Krishnan, Dilip",
        title="Supervised Contrastive Learning",
        booktitle=_NIPS,
        year="2020",
        eprint="2004.11362",
        archiveprefix="arXiv",
    ),
    "cho2009kernel": _entry(
        "inproceedings",
        author="Cho, Youngmin and Saul, Lawrence K.",
        title="Kernel Methods for Deep Learning",
        booktitle=_NIPS,
        volume="22",
        year="2009",
    ),
    "williams1997computing": _entry(
        "inproceedings",
        author="Williams, Christopher K. I.",
        title="Computing with Infinite Networks",
        booktitle=_NIPS,
        volume="9",
        year="1997",
    ),
    "mehler1866entwicklung": _entry(
        "article",
        author="Mehler, F. G.",
        title='{\\"U}ber die Entwicklung einer Function von beliebig vielen Variablen nach '
        '{Laplaceschen} Functionen h{\\"o}herer Ordnung',
        journal='Journal f{\\"u}r die reine und angewandte Mathematik',
        volume="66",
        pages="161--176",
        year="1866",
    ),
    "lecun1998mnist": _entry(
        "article",
        author="LeCun, Yann and Bottou, L{\\'e}on and Bengio, Yoshua and Haffner, Patrick",
        title="Gradient-Based Learning Applied to Document Recognition",
        journal="Proceedings of the IEEE",
        volume="86",
        number="11",
        pages="2278--2324",
        year="1998",
    ),
    "xiao2017fashion": _entry(
        "misc",
        author="Xiao, Han and Rasul, Kashif and Vollgraf, Roland",
        title="Fashion-{MNIST}: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
        year="2017",
        eprint="1708.07747",
        archiveprefix="arXiv",
    ),
    "alpaydin1998digits": _entry(
        "misc",
        author="Alpaydin, E. and Kaynak, C.",
        title="Optical Recognition of Handwritten Digits",
        howpublished="UCI Machine Learning Repository",
        year="1998",
    ),
}

ROOMS: dict[str, tuple[str, ...]] = {
    "one_step": ("demir2025onestep", "cui2024asymptotics"),
    "early_alignment": ("min2024early", "min2025collapse"),
    "phase_transition": ("montanari2026phase",),
    "unseen_classes": ("unseen2025emergence", "moniri2024theory", "he2020elasticity"),
}


def keys_of(thing: Any) -> tuple[str, ...]:
    """Find the BibTeX keys that belong to a name or an object.

    Parameters
    ----------
    thing : str or object
        A key of `ENTRIES`; a room's name; or anything with an attribute ``references`` that holds keys: a
        problem or its class, an activation, a function.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> keys_of("early_alignment")
    ('min2024early', 'min2025collapse')
    """
    if isinstance(thing, str):
        name = thing.strip().lower().replace("-", "_")
        if name in ENTRIES:
            return (name,)
        if name in ROOMS:
            return ROOMS[name]
        known = [*ENTRIES, *ROOMS]
        close = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known names: {', '.join(known)}"
        raise ValueError(f"name = {thing!r}: nothing to cite by that name; {hint}")
    found = getattr(thing, "references", None)
    keys = (found,) if isinstance(found, str) else found
    if not isinstance(keys, (tuple, list)):
        raise ValueError(
            f"{thing!r}: has no references; give a key, a room's name or an object with `references`"
        )
    unknown = [key for key in keys if key not in ENTRIES]
    if unknown:
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
    return "\n\n".join(ENTRIES[key].bibtex(key) for key in dict.fromkeys(keys))


def cite(thing: Any = None) -> str:
    """Return what to cite, as BibTeX.

    Parameters
    ----------
    thing : str or object, optional
        What was used: a key, a room's name (its source), or an object that names its ``references``: a
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
    return bibtex(ENTRIES if thing is None else keys_of(thing))
