"""Accounts, transfers with amounts and who trusts whom, and questions of many shapes about them."""
