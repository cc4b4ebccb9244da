"""What the theories say about a user's own data, each prediction beside a measurement.

Nothing here knows a theory: each brings a function of its own, found through the registry. It takes a
`UserData` and a `Clock`, and returns a `Finding` or yields ever fuller ones.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
