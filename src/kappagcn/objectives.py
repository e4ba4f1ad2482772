"""Objectives of an embedding by name, and the name of each in an epoch's metrics.

A new objective over pairs has a name here, its terms in `embedding/pair_objectives.py` and `kernels/pairs.py`, its
normalisation in `embedding/graph_distances.py`, and its title in `view/report/curves.py`.
"""

METRICS = {"distortion": "distortion", "relative": "d_avg", "stress": "stress", "neighbours": "ranking_loss"}
PAIR_OBJECTIVES = ("distortion", "relative", "stress")  # those that are sums over pairs
