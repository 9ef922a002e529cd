import warnings

import pytest


@pytest.fixture(scope="package")
def client():
    """Three workers in processes of their own, for all tests of this room."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # distributed's imports warn
        distributed = pytest.importorskip("distributed")
    # Any port: another test may have a cluster too.
    options = {
        "n_workers": 3,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
