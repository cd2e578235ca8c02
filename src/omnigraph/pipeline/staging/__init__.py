"""The files that tasks write, the receipts for them, and who may delete them."""
