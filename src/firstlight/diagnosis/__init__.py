"""What the theories say about a user's own data, each prediction beside a measurement.

Nothing here knows a theory: each brings a function of its own, found through the registry. It takes a
`UserData` and a `Clock`, and returns a `Finding` or yields ever fuller ones.
"""

from firstlight.diagnosis.clock import Clock, OutOfTime
from firstlight.diagnosis.data import UserData, user_data
from firstlight.diagnosis.finding import Figure, Finding, Prediction, Table
from firstlight.diagnosis.result import Diagnosis
from firstlight.diagnosis.run import diagnose

__all__ = [
    "Clock",
    "Diagnosis",
    "Figure",
    "Finding",
    "OutOfTime",
    "Prediction",
    "Table",
    "UserData",
    "diagnose",
    "user_data",
]


def __dir__() -> list[str]:
    return __all__
