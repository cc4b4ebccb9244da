"""What to cite for `early_alignment`; the first is the source."""

from firstlight.references import ICLR, NIPS, Entry, entry

REFERENCES: dict[str, Entry] = {
    "min2024early": entry(
        "inproceedings",
        author="Min, Hancheng and Mallada, Enrique and Vidal, Ren{\\'e}",
        title="Early Neuron Alignment in Two-layer {ReLU} Networks with Small Initialization",
        booktitle=ICLR,
        year="2024",
        eprint="2307.12851",
        archiveprefix="arXiv",
    ),
    "min2025collapse": entry(
        "inproceedings",
        author="Min, Hancheng and Zhu, Zhihui and Vidal, Ren{\\'e}",
        title="Neural Collapse under Gradient Flow on Shallow {ReLU} Networks "
        "for Orthogonally Separable Data",
        booktitle=NIPS,
        year="2025",
        eprint="2510.21078",
        archiveprefix="arXiv",
    ),
}
