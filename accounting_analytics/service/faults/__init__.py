"""Fault injection: the service with faults on purpose, so that clients can be tested against them."""
