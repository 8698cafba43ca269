from .end_to_end_run import run_demo
from .served_company import DemoCompany, demo, open_lab

__all__ = ["DemoCompany", "demo", "open_lab", "run_demo"]
