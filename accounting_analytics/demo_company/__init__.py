"""A small company from a fixed seed, served for real."""

from accounting_analytics.demo_company.company import DemoCompany, demo
from accounting_analytics.demo_company.lab import open_lab
from accounting_analytics.demo_company.tour import DemoSummary, run_demo

__all__ = ["DemoCompany", "DemoSummary", "demo", "open_lab", "run_demo"]
