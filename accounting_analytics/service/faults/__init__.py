"""Faults on purpose: the service, played badly, so that what reads it can be tested."""
