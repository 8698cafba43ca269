"""The check of a pack by its receiver, in Python and in the page itself; it shares nothing with what writes packs."""

from accounting_analytics.pack_verification.browser_check import check_script, check_section, check_style
from accounting_analytics.pack_verification.page_data import pack_data
from accounting_analytics.pack_verification.result import PackFault, PackVerification
from accounting_analytics.pack_verification.verification import verify_pack

__all__ = [
    "PackFault",
    "PackVerification",
    "check_script",
    "check_section",
    "check_style",
    "pack_data",
    "verify_pack",
]
