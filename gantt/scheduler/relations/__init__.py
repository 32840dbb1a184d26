"""Relations by topology keys in a decision: spread, distinct, apart."""
