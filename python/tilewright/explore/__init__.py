"""The interactive page of `python -m tilewright explore`."""
