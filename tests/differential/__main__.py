"""`python -m differential`: see `fuzz`."""

import sys

from .fuzz import main

sys.exit(main())
