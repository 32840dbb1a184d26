"""Selection: a host per instance, alternates, and the claim for them."""
