"""Tools, workflows, artifacts and dependencies of an agent, over a storage."""
