"""Copies that the threads of a warp execute together."""

from tilewright.cute.atom import LdMatrix8x8x16bOp, StMatrix8x8x16bOp

__all__ = ["LdMatrix8x8x16bOp", "StMatrix8x8x16bOp"]
