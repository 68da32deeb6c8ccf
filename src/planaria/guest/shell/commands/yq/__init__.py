"""yq: jq for YAML."""

from planaria.guest.shell.commands.yq import command as command
