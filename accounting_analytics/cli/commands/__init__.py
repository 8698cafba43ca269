"""One file per command, or a group of commands such as ``tokens``: parse, call the public function, print."""
