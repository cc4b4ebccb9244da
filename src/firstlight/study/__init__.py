"""Studies: the doors of a room, comparisons, sweeps that survive, their store and their catalogue."""
