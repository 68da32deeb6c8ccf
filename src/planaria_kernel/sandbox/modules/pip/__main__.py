"""The program."""

import sys

from IPython import get_ipython  # type: ignore[import-not-found]

sys.exit(get_ipython().run_pip(sys.argv[1:], sys.stdout, sys.stderr, name="pip"))
