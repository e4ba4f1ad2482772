"""Objectives of an embedding, by name: what each is called among an epoch's numbers.

A new objective over pairs has a name here, its terms in `training/pair_objectives.py` and `kernels/pairs.py`, its
normalisation in `training/graph_distances.py`, and its title in `report/curves.py`.
"""

METRICS = {"distortion": "distortion", "relative": "d_avg", "stress": "stress", "neighbours": "ranking_loss"}
PAIR_OBJECTIVES = ("distortion", "relative", "stress")  # those that are sums over pairs
