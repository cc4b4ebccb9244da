"""Choose by theory: the best setting of any problem, and maps of what theory predicts over two variables."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.design.maps import Map, predicted_map
    from firstlight.design.optimise import Optimum, optimise

__all__ = ["Map", "Optimum", "optimise", "predicted_map"]

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__, None, {"maps": ["Map", "predicted_map"], "optimise": ["Optimum", "optimise"]}
)
