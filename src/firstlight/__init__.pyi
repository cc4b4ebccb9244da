from . import data as data
from . import design as design
from . import diagnosis as diagnosis
from . import early_alignment as early_alignment
from . import maths as maths
from . import measure as measure
from . import network as network
from . import one_step as one_step
from . import phase_transition as phase_transition
from . import references as references
from . import show as show
from . import study as study
from . import unseen_classes as unseen_classes
from .data import GaussianMixture as GaussianMixture
from .data import MultiIndex as MultiIndex
from .design.maps import predicted_map as predicted_map
from .design.optimise import optimise as optimise
from .diagnosis.run import diagnose as diagnose
from .maths.activations import Activation as Activation
from .maths.activations import activation as activation
from .maths.solvers import Solved as Solved
from .references import cite as cite
from .study.compare import compare as compare

__version__: str
