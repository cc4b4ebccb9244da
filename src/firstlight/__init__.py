"""firstlight: when, and what, does a two-layer neural network learn first?

Four theories, each used in the same way: a `Problem` says what is studied, `problem.predict()`
is the theory, `problem.simulate(rng)` the experiment, and `firstlight.compare(problem, trials=...)` puts them
side by side. Submodules load when first used, so that importing the package costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
