"""A peer that never gets to work."""

import time

time.sleep(3600)
