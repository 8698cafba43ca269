from .end_to_end_run import DemoSummary, run_demo
from .jupyter_lab import open_lab
from .served_company import DemoCompany, demo

__all__ = ["DemoCompany", "DemoSummary", "demo", "open_lab", "run_demo"]
