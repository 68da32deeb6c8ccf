"""What cells have beside Python, as in IPython: magics, lines for the shell, questions about names."""
