"""Classes of nodes: the classifier, its network and task, splits, baselines and verdict."""
