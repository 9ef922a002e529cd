def pytest_configure(config):
    """Warnings of Keras and its backends about each other, which are not ours to fix."""
    for warning in (
        "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning",
        "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning",
    ):
        config.addinivalue_line("filterwarnings", warning)
