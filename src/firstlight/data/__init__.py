"""Data: laws to draw from, generators of points, a user's own files, and sets of images.

The names load when first used, so that importing this package costs nothing.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.data.cache import ImagesNotFetched, fetch
    from firstlight.data.files import Table, load
    from firstlight.data.images import Images, load_images, pair
    from firstlight.data.mixture import GaussianMixture
    from firstlight.data.multi_index import MultiIndex
    from firstlight.data.parser import Formula
    from firstlight.data.separable import toy, two_points

_NAMES = {
    "cache": ["ImagesNotFetched", "fetch"],
    "files": ["Table", "load"],
    "images": ["Images", "load_images", "pair"],
    "mixture": ["GaussianMixture"],
    "multi_index": ["MultiIndex"],
    "parser": ["Formula"],
    "separable": ["toy", "two_points"],
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

__getattr__, _, _ = lazy_loader.attach(__name__, _MODULES, _NAMES)


def __dir__() -> list[str]:
    return __all__
