"""What to cite for `unseen_classes`; the first is the source."""

from firstlight.references import ICLR, NIPS, Entry, entry

REFERENCES: dict[str, Entry] = {
    "unseen2025emergence": entry(
        "misc",
        title="Emergence of Alignment and Local Elasticity in Two-Layer Neural Networks",
        howpublished=f"Submission to the {ICLR}",
        year="2025",
    ),
    "moniri2024theory": entry(
        "inproceedings",
        author="Moniri, Behrad and Lee, Donghwan and Hassani, Hamed and Dobriban, Edgar",
        title="A Theory of Non-Linear Feature Learning with One Gradient Step in Two-Layer Neural Networks",
        booktitle="International Conference on Machine Learning",
        year="2024",
        eprint="2310.07891",
        archiveprefix="arXiv",
    ),
    "he2020elasticity": entry(
        "inproceedings",
        author="He, Hangfeng and Su, Weijie J.",
        title="The Local Elasticity of Neural Networks",
        booktitle=ICLR,
        year="2020",
        eprint="1910.06943",
        archiveprefix="arXiv",
    ),
    "transfer2025classifier": entry(
        "inproceedings",
        title="How Classifier Features Transfer to Downstream: An Asymptotic Analysis in a Two-Layer Model",
        booktitle=NIPS,
        year="2025",
        url="https://openreview.net/forum?id=QRKg5GA9Zo",
    ),
}
