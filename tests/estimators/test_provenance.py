import torch

from kappagcn import GraphEmbedder, KappaGCNClassifier
from kappagcn.estimators.provenance import provenance


def test_the_call_repeats_the_settings():
    about = provenance(KappaGCNClassifier("H4", epochs=7))
    assert about["call"] == "KappaGCNClassifier(space='H4', epochs=7).fit(graph)"
    assert about["versions"]["torch"] == torch.__version__
    assert eval(provenance(GraphEmbedder("S2"))["call"].removesuffix(".fit(graph)")).space == "S2"
