"""What to cite for `one_step`; the first is the source."""

from firstlight.references import ICLR, Entry, entry

REFERENCES: dict[str, Entry] = {
    "demir2025onestep": entry(
        "inproceedings",
        author="Demir, Samet and Dogan, Zafer",
        title="Asymptotic Analysis of Two-Layer Neural Networks after One Gradient Step "
        "under {Gaussian} Mixtures Data with Structure",
        booktitle=ICLR,
        year="2025",
        eprint="2503.00856",
        archiveprefix="arXiv",
    ),
    "cui2024asymptotics": entry(
        "inproceedings",
        author="Cui, Hugo and Pesce, Luca and Dandi, Yatin and Krzakala, Florent and Lu, Yue M. "
        "and Zdeborov{\\'a}, Lenka and Loureiro, Bruno",
        title="Asymptotics of Feature Learning in Two-Layer Networks after One Gradient-Step",
        booktitle="International Conference on Machine Learning",
        year="2024",
        eprint="2402.04980",
        archiveprefix="arXiv",
    ),
    "marchenko1967distribution": entry(
        "article",
        author="Mar{\\v{c}}enko, Vladimir A. and Pastur, Leonid A.",
        title="Distribution of Eigenvalues for Some Sets of Random Matrices",
        journal="Mathematics of the USSR-Sbornik",
        volume="1",
        pages="457--483",
        year="1967",
    ),
    "silverstein1995strong": entry(
        "article",
        author="Silverstein, Jack W.",
        title="Strong Convergence of the Empirical Distribution of Eigenvalues of Large Dimensional "
        "Random Matrices",
        journal="Journal of Multivariate Analysis",
        volume="55",
        pages="331--339",
        year="1995",
    ),
}
