"""What theory and experiment mean by the same words: the network, and how it is trained."""

from firstlight.phase_transition.definitions.student import Student, as_student, default_times
from firstlight.phase_transition.definitions.training import BATCHES, SCHEDULES, Training, as_training

__all__ = ["BATCHES", "SCHEDULES", "Student", "Training", "as_student", "as_training", "default_times"]
