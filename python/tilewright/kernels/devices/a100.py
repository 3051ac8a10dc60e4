"""NVIDIA A100, and what else is of its generation (sm_80): nothing was measured on one.

The rates are from data sheets, and what kernels reach of them was not measured. The other numbers are the H200's.
"""

DEVICE = "NVIDIA A100"
MEASURED = "never; written down on 2026-11-21"

RATES = {
    # Those that it runs, the one to be asked first at the front; the share of the rates below that each reaches.
    "kernels": {"sm80": 0.85, "simt": 0.75},
    "half": 312.0,  # TFLOP/s of the tensor cores: fp16, bf16
    "tf32": 156.0,  # the same
    "float8": 0.0,  # the same; 0: there is no such instruction
    "int8": 624.0,  # the same
    "float64": 19.5,  # the same
    "fma": 19.5,  # TFLOP/s of fp32 without tensor cores
    "fma64": 9.7,  # the same of fp64
    "bandwidth": 1.9,  # TB/s of the memory
}
