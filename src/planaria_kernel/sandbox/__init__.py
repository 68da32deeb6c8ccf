"""What only the sandbox needs: its start, its shell, its image."""
