"""jq: its language, and the command."""

from planaria.guest.shell.commands.jq import command as command
