"""Arguments of estimators, as scikit-learn asks for them."""

from kappagcn.classification.classifier import KappaGCNClassifier


def test_parameters_as_scikit_learn_asks_for_them():
    classifier = KappaGCNClassifier("S8", lr=0.02)
    assert repr(classifier) == "KappaGCNClassifier(space='S8', lr=0.02)"
    assert type(classifier)(**classifier.get_params()).get_params() == classifier.get_params()
    assert classifier.set_params(lr=0.5).lr == 0.5
