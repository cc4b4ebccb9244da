"""Data: laws to draw from, generators of points, a user's own files, and sets of images.

The names load when first used, so that importing this package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firstlight.data.cache import ImagesNotFetched, fetch
    from firstlight.data.files import Table, load
    from firstlight.data.images import Images, load_images, pair
    from firstlight.data.mixture import GaussianMixture
    from firstlight.data.multi_index import MultiIndex
    from firstlight.data.parser import Formula
    from firstlight.data.separable import toy, two_points

_NAMES = {
    "Formula": "parser",
    "GaussianMixture": "mixture",
    "Images": "images",
    "ImagesNotFetched": "cache",
    "MultiIndex": "multi_index",
    "Table": "files",
    "fetch": "cache",
    "load": "files",
    "load_images": "images",
    "pair": "images",
    "toy": "separable",
    "two_points": "separable",
}
_MODULES = ("cache", "files", "idx", "images", "mixture", "multi_index", "parser", "separable", "sources")

__all__ = [
    "Formula",
    "GaussianMixture",
    "Images",
    "ImagesNotFetched",
    "MultiIndex",
    "Table",
    "fetch",
    "load",
    "load_images",
    "pair",
    "toy",
    "two_points",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
