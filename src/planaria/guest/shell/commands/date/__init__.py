"""date: moments from words, and words from moments."""

from planaria.guest.shell.commands.date import command as command
