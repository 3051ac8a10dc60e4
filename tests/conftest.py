"""Hypothesis profiles: ci is the default, the others are chosen with --hypothesis-profile."""

from hypothesis import HealthCheck, settings

# How long an example takes says nothing about right or wrong, and machines differ.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("ci", COMMON, max_examples=1000, derandomize=True)
settings.register_profile("nightly", COMMON, max_examples=100_000, print_blob=True)
settings.register_profile("dev", COMMON, max_examples=100)
settings.load_profile("ci")
