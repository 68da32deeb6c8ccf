"""What code finds in a session with a workspace: `tools`, `workflows`, `artifacts`, `deps`."""
