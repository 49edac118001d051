"""Faults put into kernels, which the emulator must name; ``python -m tests.mutations`` writes the page."""
