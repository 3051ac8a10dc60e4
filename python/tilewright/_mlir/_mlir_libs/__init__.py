"""The compiled part of MLIR's Python package, under whose path programs import types: see `tilewright._mlir.ir`."""
