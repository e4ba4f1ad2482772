"""Missing links: the link predictor, its network and task, search, baselines and verdict."""
