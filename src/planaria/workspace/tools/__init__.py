"""Tools that code in a session may call: commands, servers, web interfaces and Python functions."""
