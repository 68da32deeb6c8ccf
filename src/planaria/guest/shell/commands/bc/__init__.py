"""bc and dc: arbitrary precision."""

from planaria.guest.shell.commands.bc import command as command
from planaria.guest.shell.commands.bc import dc as dc
