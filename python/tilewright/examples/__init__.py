"""The programs of the repository's folder `examples`, one idea each; they need torch. Folders have their parts.

`python -m tilewright.examples.attention_forward` runs one and compares it with torch, on the GPU or else on the CPU.
`tilewright.torch` calls some of them, so each kernel has one source. Its functions may change from one version to the
next; those of `tilewright.torch` stay.
"""
