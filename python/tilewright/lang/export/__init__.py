"""Compiled functions as files that C programs link, and that Python loads."""
