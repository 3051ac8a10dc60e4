"""What a kernel costs, counted while the CPU executes it."""
