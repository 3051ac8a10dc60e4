"""Decorated functions: what a call of one traces, binds, launches and compiles."""
