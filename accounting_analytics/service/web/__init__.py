"""HTTP: the application and its routes, the server that runs it, and the limits on what it accepts."""
