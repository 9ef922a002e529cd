import astralearn
from astralearn import core

PROMISED = {
    "curve": [
        "astra",
        "threshold",
        "slope",
        "rebalance",
        "rebalanced_logit",
        "slope_from_raw",
        "raw_from_slope",
    ],
    "confusion": ["soft_confusion", "SoftConfusion"],
    "losses": [
        "bce_loss",
        "gmn_loss",
        "f1_loss",
        "mcc_loss",
        "balanced_accuracy_loss",
        "root_gmn_loss",
        "LOSSES",
    ],
    "slope_rate": ["slope_rate"],
}


def test_the_promised_names_are_there():
    assert {name for names in PROMISED.values() for name in names} <= set(astralearn.__all__)


def test_the_core_is_re_exported():
    assert all(getattr(astralearn, name) is getattr(core, name) for name in core.__all__)


def test_every_public_name_is_documented():
    for name in core.__all__:
        item = getattr(core, name)
        assert isinstance(item, dict) or item.__doc__, name


def test_all_names_exist():
    assert all(hasattr(astralearn, name) for name in astralearn.__all__)
