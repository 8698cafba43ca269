"""A small company with books from a fixed seed, served by the embedded service on loopback."""

from accounting_analytics.demo_company.end_to_end_run import DemoSummary, run_demo
from accounting_analytics.demo_company.jupyter_lab import open_lab
from accounting_analytics.demo_company.served_company import DemoCompany, demo

__all__ = ["DemoCompany", "DemoSummary", "demo", "open_lab", "run_demo"]
