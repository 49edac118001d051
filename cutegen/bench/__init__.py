"""Measure kernels against others on the same GPU, in the same process, in turn.

:func:`~cutegen.bench.session.run_session` does it all; :mod:`~cutegen.bench.timing` alone knows how a sample
is taken, and works with any device that has the few functions it needs. Nothing here is imported by
``import cutegen``, and torch only when a GPU is used.
"""
