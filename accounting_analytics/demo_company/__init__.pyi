from .end_to_end_run import run_demo
from .lab import open_lab
from .served_company import DemoCompany, demo

__all__ = ["DemoCompany", "demo", "open_lab", "run_demo"]
