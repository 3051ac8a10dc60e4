"""The Python side of the runtime: find NVRTC, compile kernels, keep what was compiled, say what is missing."""
