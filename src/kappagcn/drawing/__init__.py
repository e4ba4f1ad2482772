"""What pictures and pages share: colours and shapes of classes, their short names, the middle of a graph."""
