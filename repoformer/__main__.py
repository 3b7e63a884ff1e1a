"""``python -m repoformer``."""

import sys

from repoformer.cli import main

sys.exit(main())
