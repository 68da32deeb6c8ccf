"""What other programs and frameworks see of a session; each module needs the extra of its name."""
