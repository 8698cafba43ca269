"""Certify that a load is complete, and reconcile it with the reports of the service."""
