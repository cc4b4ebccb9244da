"""For all tests: what collecting them has made is not searched for garbage again and again."""

import gc


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
