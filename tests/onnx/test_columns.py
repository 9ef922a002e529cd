import numpy as np
import pandas as pd
import pytest

from astralearn.onnx.columns import check_expressible, part_of
from astralearn.onnx.nodes import IR_VERSION, OPSET, Nodes, Value
from astralearn.tabular import TableEncoder
from astralearn.tabular.dates import part_of as part_of_dates
from onnx import TensorProto, helper


@pytest.mark.parametrize("part", ["weekday", "hour", "month", "day"])
def test_parts_of_dates_are_the_calendar_s(part, run):
    days = pd.date_range("1899-12-25", "2101-03-05", freq="29h17min", tz="UTC")
    dates = pd.Series([*days, pd.Timestamp("2000-02-29", tz="UTC"), pd.NaT])
    seconds = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds().to_numpy()
    nodes = Nodes()
    found = part_of(Value(nodes, "x"), part)
    info = [
        helper.make_tensor_value_info(of, TensorProto.DOUBLE, [None]) for of in ("x", found.name)
    ]
    graph = helper.make_graph(nodes.nodes, "g", info[:1], info[1:], initializer=nodes.constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
    (values,) = run(model, {"x": seconds})
    np.testing.assert_allclose(values, part_of_dates(dates, part), rtol=1e-12)


def test_a_group_is_beyond_a_row():
    frame = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "card": ["a", "a"]})
    encoder = TableEncoder(group="card").fit(frame)
    with pytest.raises(ValueError, match=r"group='card' cannot be written as ONNX"):
        check_expressible(encoder)
