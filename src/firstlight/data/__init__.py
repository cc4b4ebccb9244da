"""Data: laws to draw from, generators of points, a user's own files, and sets of images.

The names load when first used, so that importing this package costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
