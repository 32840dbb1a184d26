"""Several flavors counted together, the price of rules, and how long room lasts."""
