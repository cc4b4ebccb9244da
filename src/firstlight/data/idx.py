"""The idx format, in which MNIST and its relatives come: a header with the shape, then plain bytes."""

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_UBYTE = 8
_MOST_BYTES = 2_000_000_000


def read(path: str | Path) -> np.ndarray:
    """Read an idx file of unsigned bytes, gzipped or not.

    Parameters
    ----------
    path : str or Path
        The file; whether it is gzipped is read off its first bytes, not its name.

    Raises
    ------
    ValueError
        Not an idx file of unsigned bytes, or too short, or too long for the shape in its header.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels"
    >>> write(path, np.array([3, 1, 4], dtype=np.uint8))
    >>> read(path)
    array([3, 1, 4], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            if not packed:
                return _parse(raw)
            with gzip.GzipFile(fileobj=raw) as unpacked:
                return _parse(unpacked)  # type: ignore[arg-type]
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path}: {error}") from None


def _parse(stream: BinaryIO) -> np.ndarray:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] != _UBYTE or not 1 <= magic[3] <= 4:
        raise ValueError("is not an idx file of unsigned bytes")
    shape = tuple(int(size) for size in np.frombuffer(stream.read(4 * magic[3]), dtype=">u4"))
    if len(shape) < magic[3]:
        raise ValueError("is not an idx file: its header is cut off")
    expected = math.prod(shape)
    if expected > _MOST_BYTES:
        raise ValueError(f"its header claims {expected:,} bytes, at most {_MOST_BYTES:,} are read")
    data = stream.read(expected + 1)
    if len(data) != expected:
        problem = "cut off" if len(data) < expected else "too long"
        raise ValueError(f"is {problem}: its header says {expected:,} bytes of data, shape {shape}")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def write(path: str | Path, array: np.ndarray) -> None:
    """Write an array of unsigned bytes, of one to four dimensions, as an idx file."""
    array = np.asarray(array)
    if array.dtype != np.uint8 or not 1 <= array.ndim <= 4:
        raise ValueError(f"array: {array.dtype} of {array.ndim} dimensions, expected uint8 of 1 to 4")
    header = bytes([0, 0, _UBYTE, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    Path(path).write_bytes(header + array.tobytes())


def read_folder(folder: str | Path) -> list[np.ndarray]:
    """Read the four files of a set, `FILES`, each plain or gzipped, and check that they fit together.

    Parameters
    ----------
    folder : str or Path
        Where they are; the spelling ``train-images.idx3-ubyte`` is understood as well.

    Returns
    -------
    list of ndarray of uint8
        Training images (n, height, width) and labels (n,), then test images and labels.
    """
    folder = Path(folder)
    train, train_labels, test, test_labels = arrays = [read(_find(folder, file)) for file in FILES]
    for part, images, labels in (("train", train, train_labels), ("t10k", test, test_labels)):
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise ValueError(
                f"{folder}: {part} images of shape {images.shape} with labels of shape {labels.shape}, "
                "expected (n, height, width) and (n,)"
            )
    if train.shape[1:] != test.shape[1:]:
        raise ValueError(f"{folder}: train images are {train.shape[1:]}, t10k images {test.shape[1:]}")
    return arrays


def _find(folder: Path, file: str) -> Path:
    dotted = file.replace("-idx", ".idx")
    for spelling in (file, f"{file}.gz", dotted, f"{dotted}.gz"):
        if (folder / spelling).is_file():
            return folder / spelling
    raise FileNotFoundError(f"{folder}: holds no {file} (nor {file}.gz)")
