import os

# keras.ops is tested on JAX here; the variable must be set before Keras is first imported.
os.environ["KERAS_BACKEND"] = "jax"
os.environ["JAX_PLATFORMS"] = "cpu"

from hypothesis import settings

settings.register_profile("astralearn", deadline=None, derandomize=True)
settings.load_profile("astralearn")
