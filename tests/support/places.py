"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests/support"
ORACLES = ROOT / "tests/oracles"
