"""A brute-force model of layouts and of the laws of their algebra, independent of the library under test."""
