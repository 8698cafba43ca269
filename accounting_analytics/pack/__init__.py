"""The monthly pack of a company: its page, its other files, and the check by the receiver."""
