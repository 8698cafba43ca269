"""Certify that a load is complete, and reconcile the load with the reports of the service."""
