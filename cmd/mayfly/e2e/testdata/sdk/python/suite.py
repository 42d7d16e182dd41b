"""Runs every case, or those named, against the servers named by the environment."""

import sys

import administration  # noqa: F401
import errors  # noqa: F401
import harness
import messages  # noqa: F401
import places  # noqa: F401
import sessions  # noqa: F401
import settling  # noqa: F401

harness.run(set(sys.argv[1:]))
