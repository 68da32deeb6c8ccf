"""diff and patch."""

from planaria.guest.shell.commands.diff import command as command
from planaria.guest.shell.commands.diff import diff3 as diff3
from planaria.guest.shell.commands.diff import patch as patch
from planaria.guest.shell.commands.diff import sdiff as sdiff
