"""On the path of processes that tests start: they find what a user has without the extra `cluster`.

Where dask is installed, xarray loads all of it with the first data set: a third of the time in which such a
process gets ready.
"""

import sys

sys.modules["dask"] = None  # as if it were not installed
