"""ls and dircolors."""
