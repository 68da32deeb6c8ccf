"""What a session has beside its interpreter: tools, workflows, artifacts and dependencies."""
