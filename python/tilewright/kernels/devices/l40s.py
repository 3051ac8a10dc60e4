"""NVIDIA L40S, and what else is of its generation (sm_89): nothing was measured on one.

The rates are from data sheets, and what kernels reach of them was not measured. The other numbers are the H200's.
"""

DEVICE = "NVIDIA L40S"
MEASURED = "never; written down on 2026-11-21"

RATES = {
    # Those that it runs, the one to be asked first at the front; the share of the rates below that each reaches.
    "kernels": {"sm80": 0.8, "simt": 0.6},
    "half": 362.0,  # TFLOP/s of the tensor cores: fp16, bf16
    "tf32": 183.0,  # the same
    "float8": 733.0,  # the same; 0: there is no such instruction
    "int8": 733.0,  # the same
    "float64": 1.4,  # the same
    "fma": 91.0,  # TFLOP/s of fp32 without tensor cores
    "fma64": 1.4,  # the same of fp64
    "bandwidth": 0.86,  # TB/s of the memory
}
