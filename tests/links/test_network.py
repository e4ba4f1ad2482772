"""From settings to a link predictor."""

import pytest
import torch

from kappagcn.errors import GraphError
from kappagcn.graphs import cycle
from kappagcn.links.network import build_link_predictor, link_inputs, resolved_links
from kappagcn.links.settings import LinkPredictionSettings
from kappagcn.models import FreePoints
from workers import Worker, execute


def settings(x=None, **values):
    return resolved_links(LinkPredictionSettings("H4", **values), x)


def graph(x):
    data = cycle(6)
    data.x = x
    return data


def test_nothing_is_left_to_choose():
    x = torch.eye(6)
    for inputs in ("auto", "features", "identity", "both"):
        resolved = settings(x, inputs=inputs)
        assert "auto" not in {resolved.inputs, resolved.feature_norm, resolved.input_dropout, resolved.l2}
        assert resolved.space == "H4(-0.1)"
    assert settings(None).inputs == "identity"
    with pytest.raises(GraphError, match="expected a graph with features for 'both'"):
        settings(None, inputs="both")
    with pytest.raises(GraphError, match="feature_norm: expected auto for a graph without features, found 'rows'"):
        settings(None, feature_norm="rows")


def test_inputs_are_features_one_column_per_node_or_both():
    x = torch.rand(6, 3)
    widths = {inputs: link_inputs(settings(x, inputs=inputs), graph(x)).shape[1] for inputs in ("features", "both")}
    assert widths == {"features": 3, "both": 9}
    assert link_inputs(settings(None), graph(None)).to_dense().tolist() == torch.eye(6).tolist()


FIRST_TENSOR = """
import warnings
import torch
warnings.filterwarnings("error", "Sparse CSR")
torch.eye(2).to_sparse_csr()
"""
WITHOUT_WARNINGS = """
import warnings
import torch
warnings.filterwarnings("error", "Sparse CSR")
from kappagcn import KappaGCNLinkPredictor
from kappagcn.graphs import cycle
data = cycle(12)
data.x = torch.rand(12, 3)
KappaGCNLinkPredictor("H2", inputs="both", epochs=1).fit(data)
"""


def test_sparse_inputs_do_not_warn_in_a_new_process():
    """torch warns of its first CSR tensor, once, which is nothing that a user could change."""
    _, errors, code = Worker(execute, FIRST_TENSOR).ended()
    assert code, "as it does here"
    assert "Sparse CSR tensor support is in beta" in errors
    _, errors, code = Worker(execute, WITHOUT_WARNINGS).ended()
    assert code == 0, errors


@pytest.mark.parametrize("model", ["kappa-gcn", "gcn", "hgcn", "mlp", "free"])
def test_every_encoder_has_the_dimension_of_the_space(model):
    predictor = build_link_predictor(settings(None, model=model), 6, 6)
    vectors = predictor() if model == "free" else predictor(torch.eye(6), cycle(6).edge_index)
    assert vectors.shape == (6, 4)
    assert isinstance(predictor.encoder, FreePoints) == (model == "free")
