"""What kernels are written with beside numbers and tensors: shared memory, structs, control flow written out."""
