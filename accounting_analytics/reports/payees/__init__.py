"""Counterparties: reasons for changed totals, recurring payments, open items and weeks ahead."""
