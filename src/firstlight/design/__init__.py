"""Choose by theory: the best setting of any problem, and maps of what theory predicts over two variables."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
