"""The version of the installed package."""

import importlib.metadata

__version__ = importlib.metadata.version("accounting-analytics")
