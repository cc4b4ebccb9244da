"""What the tests start as processes of their own, to kill them."""

import os
import subprocess
import sys
from pathlib import Path

from tiny import Tiny

from firstlight.study.run import run
from firstlight.study.sweep import Study

HERE = Path(__file__).parent
LONG = Study(
    "tiny/long", "many short trials", Tiny, fixed={"sleep": 0.004}, trials=10,
    axes={"rate": [0.5 + 0.1 * i for i in range(40)]},
)  # fmt: skip


def run_long(path):
    """Run the long study in this process."""
    run(LONG, path, workers=0)


def environment():
    """Return the variables under which another process finds the tiny theory, and computes on one thread."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def command(*arguments):
    """Return the command line of `firstlight study ...` for this interpreter."""
    code = (
        "import tiny; tiny.register()\n"
        "from firstlight.cli.study import app; app(prog_name='firstlight study')"
    )
    return [sys.executable, "-c", code, *map(str, arguments)]


def call(*arguments, **options):
    """Run `firstlight study ...` to its end."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, env=environment(), timeout=120, **options
    )
