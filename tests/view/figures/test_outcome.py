import numpy as np

from kappagcn.view.figures.outcome import confusion
from kappagcn.view.figures.style import LIGHT, styled


def test_the_confusion_matrix_has_classes_as_rows(classification_run):
    with styled(LIGHT):
        axis = confusion(LIGHT, classification_run).axes[0]
    counts = classification_run.confusion()
    assert [text.get_text() for text in axis.texts] == [f"{count}" for count in counts.ravel()]
    np.testing.assert_allclose(axis.images[0].get_array(), counts / counts.sum(1, keepdims=True))
    assert [label.get_text() for label in axis.get_yticklabels()] == ["one", "two", "three"]
