"""What to cite for `phase_transition`; the first is the source."""

from firstlight.references import Entry, entry

REFERENCES: dict[str, Entry] = {
    "montanari2026phase": entry(
        "misc",
        author="Montanari, Andrea and Wang, Zihao",
        title="Phase Transitions for Feature Learning in Neural Networks",
        year="2026",
        eprint="2602.01434",
        archiveprefix="arXiv",
    ),
}
