"""`python -m astralearn …` is `astralearn …`."""

import sys

from astralearn.cli import main

if __name__ == "__main__":
    sys.exit(main())
