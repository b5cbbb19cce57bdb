"""Reads a trajectory from the standard input with the models of Harbor, and checks that they understand all of it.

Prints the sums of the final metrics over the trajectory and its subagents: prompt, completion and cached tokens.
"""

import json
import sys

from harbor.models.trajectories import Trajectory

document = json.load(sys.stdin)
trajectory = Trajectory.model_validate(document)
assert trajectory.to_json_dict() == document, "a value was read as another one"

embedded = trajectory.subagent_trajectories or []
by_id = {subagent.trajectory_id for subagent in embedded}
for step in (step for each in [trajectory, *embedded] for step in each.steps if step.observation):
    for reference in (reference for result in step.observation.results for reference in result.subagent_trajectory_ref or []):
        assert reference.trajectory_id in by_id, f"{reference.trajectory_id} is not in the document"

metrics = [each.final_metrics for each in [trajectory, *embedded]]
print(
    sum(each.total_prompt_tokens for each in metrics),
    sum(each.total_completion_tokens for each in metrics),
    sum(each.total_cached_tokens for each in metrics),
)
