"""NVIDIA H100 80GB HBM3: what benchmarks/fit_device.py measured on one. What is not here is the H200's."""

DEVICE = "NVIDIA H100 80GB HBM3"
MEASURED = "2026-11-23, CUDA driver 13000"

# The H200's, but for `bandwidth`, measured 2026-11-23, CUDA driver 13000.
RATES = {
    # Those that it runs, the one to be asked first at the front; the share of the rates below that each reaches.
    "kernels": {"sm90": 0.68, "sm80": 0.4, "simt": 0.76},
    "half": 989.0,  # TFLOP/s of the tensor cores: fp16, bf16
    "tf32": 494.0,  # the same
    "float8": 1979.0,  # the same
    "int8": 1979.0,  # the same
    "float64": 67.0,  # the same
    "fma": 67.0,  # TFLOP/s of fp32 without tensor cores
    "fma64": 34.0,  # the same of fp64
    "bandwidth": 3.007,  # TB/s of the memory
}

# gemm_simt: the rates of its tiles, and how long a tile takes. Of 2026-11-23, CUDA driver 13000.
# Fitted to 266 launches of 10 shapes: off by 9.5%, and what is chosen takes
# 1.8% longer than the best of all. The H200's numbers: off by 13.2%, and 2.4% longer.
# So the H200's numbers hold.

# gemm_sm90: the model, in clocks unless said otherwise. Of 2026-11-23, CUDA driver 13000.
# Fitted to 535 launches of 11 shapes: off by 15.5%, and what is chosen takes
# 2.6% longer than the best of all. The H200's numbers: off by 30.8%, and 1.2% longer.
# So the H200's numbers hold.
