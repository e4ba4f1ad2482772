"""Everything that is computed with follows its inputs to another device."""

import json

import device_worker
from workers import Worker


def test_on_a_device_that_is_not_there():
    """Forward, backward and training give the CPU's numbers; a tensor that is left on the CPU raises."""
    out, err, code = Worker(device_worker.main).ended(600)
    assert code == 0, err
    outcomes = json.loads(out.splitlines()[-1])
    wrong = {name: problem for name, problem in outcomes.items() if problem is not None}
    assert not wrong, "\n\n".join(f"{name}: {problem}" for name, problem in wrong.items())
    assert outcomes.keys() == device_worker.RUNS.keys()
