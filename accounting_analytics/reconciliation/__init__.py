"""Is it all there, is it what the service says, and why not: certificate, reconciliation, months, journal."""
