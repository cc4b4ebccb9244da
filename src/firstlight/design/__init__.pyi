from .maps import Map as Map
from .maps import predicted_map as predicted_map
from .optimise import Optimum as Optimum
from .optimise import optimise as optimise
