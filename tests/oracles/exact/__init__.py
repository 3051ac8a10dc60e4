"""The algebra beside oracles that know nothing of it: every coordinate by NumPy, or sets of integers by isl."""
