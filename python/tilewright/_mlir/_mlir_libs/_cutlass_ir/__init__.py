"""See `tilewright._mlir.ir`."""
