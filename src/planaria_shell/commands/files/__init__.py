"""Commands about files and directories."""
