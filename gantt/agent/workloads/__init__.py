"""What runs on the host: the instances, found in several ways."""
