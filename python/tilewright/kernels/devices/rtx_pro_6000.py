"""NVIDIA RTX PRO 6000, and what else is of its generation (sm_120): nothing was measured on one.

The rates are from data sheets, and what kernels reach of them was not measured. The other numbers are the H200's.
"""

DEVICE = "NVIDIA RTX PRO 6000"
MEASURED = "never; written down on 2026-11-21"

RATES = {
    # Those that it runs, the one to be asked first at the front; the share of the rates below that each reaches.
    "kernels": {"sm80": 0.7, "simt": 0.6},
    "half": 500.0,  # TFLOP/s of the tensor cores: fp16, bf16
    "tf32": 250.0,  # the same
    "float8": 1000.0,  # the same; 0: there is no such instruction
    "int8": 1000.0,  # the same
    "float64": 2.0,  # the same
    "fma": 125.0,  # TFLOP/s of fp32 without tensor cores
    "fma64": 2.0,  # the same of fp64
    "bandwidth": 1.6,  # TB/s of the memory
}
