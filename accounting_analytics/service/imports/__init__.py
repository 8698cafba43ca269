"""Imports of files of books into the embedded service."""
