"""Bridges: why a total changed between two periods, in steps that sum exactly to the change."""

from accounting_analytics.bridges.calculation import Bridge, bridge

__all__ = ["Bridge", "bridge"]
