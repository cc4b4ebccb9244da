"""Pure measures: arrays in, numbers out. Imports no theory."""
