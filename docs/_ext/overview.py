"""Draw the README's picture: `python overview.py FILE`."""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

SCRIPT = Path(__file__).parents[2] / "examples" / "gallery" / "plot_00_overview.py"

if __name__ == "__main__":
    plt.switch_backend("Agg")
    runpy.run_path(str(SCRIPT))
    plt.gcf().savefig(sys.argv[1], dpi=90)
