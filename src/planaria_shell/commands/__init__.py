"""The commands by family. The first run of a command imports its module: see `state.command.Registry`."""
