"""The event-driven kernel, compiled: `walk` traces neurons exactly, `replay` finds them again at any time.

A wall can attract from both sides: with the datum on, the neuron is driven to the other side; with it off,
back. Then it slides along the wall (`shares`). `sprint` passes many plain events quickly; `state` is what all
of them share.
"""
