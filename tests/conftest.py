import os

# keras.ops is tested on JAX unless tests/keras asks for another backend; the variable must be set before Keras is first imported.
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["JAX_PLATFORMS"] = "cpu"

from hypothesis import settings

settings.register_profile("astralearn", deadline=None, derandomize=True)
settings.load_profile("astralearn")
