"""Train a stack of small networks at once: NumPy in and out, JAX inside.

NumPy alone: `reproducible`, `view`, `rows`, `network`, `stack`, `fork`, `interrupts`.
JAX: `objective`, `epoch`, `places`, `programs`, `lbfgs`, `training`.
"""
