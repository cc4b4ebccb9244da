"""Training by simulation: networks and their descent. Imports no theory."""
