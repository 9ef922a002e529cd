import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from astralearn.study import Method
from classifiers import Nearest, Stacked


def test_validation_needs_fit_many():
    assert Method("m", Stacked(), validates=True).stacks
    with pytest.raises(
        TypeError, match="m: a method that validates needs an estimator with fit_many"
    ):
        Method("m", Nearest(), validates=True)


def test_identity_is_class_and_parameters_but_not_speed_noise_or_seed():
    def described(**options):
        return Method(
            "m", make_pipeline(StandardScaler(), LogisticRegression(**options))
        ).described()

    assert described(C=2.0) != described(C=3.0)
    assert described(verbose=1, random_state=3) == described()
    assert "C=1.0" in described()
    assert Method("m", Stacked(), validates=True).described() != Method("m", Stacked()).described()


def test_identity_has_no_addresses():
    def fresh():
        return Method(
            "m", make_pipeline(FunctionTransformer(np.abs), LogisticRegression())
        ).described()

    assert " at 0x" not in fresh()
    assert fresh() == fresh()


@pytest.mark.parametrize(
    ("estimator", "found"),
    [(LogisticRegression, r"found .*: write LogisticRegression\(\)"), ("mine", "found 'mine'")],
)
def test_an_estimator_is_an_instance(estimator, found):
    with pytest.raises(
        TypeError, match=f"m: estimator must be an instance of a scikit-learn classifier; {found}"
    ):
        Method("m", estimator)
