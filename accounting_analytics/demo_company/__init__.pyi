from .end_to_end_run import DemoSummary, run_demo
from .served_company import DemoCompany, demo, open_lab

__all__ = ["DemoCompany", "DemoSummary", "demo", "open_lab", "run_demo"]
