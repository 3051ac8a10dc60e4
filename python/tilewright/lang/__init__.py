"""The language of kernels: Python functions that are traced into programs."""
