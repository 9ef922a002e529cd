import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from astralearn.onnx import register

pytestmark = pytest.mark.slow

skl2onnx = pytest.importorskip("skl2onnx")


@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_a_pipeline_goes_through_skl2onnx(committee, run, kind, tolerance):
    register()
    model, X = committee
    scaler = StandardScaler(with_mean=False, with_std=False).fit(X)
    pipe, X = make_pipeline(scaler, model), X.astype(kind)
    converted = skl2onnx.to_onnx(pipe, X[:1], options={"zipmap": False})
    label, found = run(converted, {"X": X})
    np.testing.assert_allclose(found, pipe.predict_proba(X), rtol=0, atol=tolerance)
    assert (label == pipe.predict(X)).mean() == 1


def test_a_table_goes_through_skl2onnx(table, run):
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    register()
    model, frame, feeds = table
    types = {"word": StringTensorType, "number": DoubleTensorType, "date": DoubleTensorType}
    inputs = [(name, types[kind]([None, 1])) for name, kind in model.encoder_.kinds_.items()]
    converted = skl2onnx.convert_sklearn(model, initial_types=inputs, options={"zipmap": False})
    found = run(converted, feeds)[1]
    np.testing.assert_allclose(found, model.predict_proba(frame), rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="the inputs must be amount, age"):
        skl2onnx.convert_sklearn(model, initial_types=inputs[:1], options={"zipmap": False})
