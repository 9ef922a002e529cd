"""Trains a stack of small networks at once: JAX and optax inside, NumPy in and out. `network` needs NumPy alone."""
