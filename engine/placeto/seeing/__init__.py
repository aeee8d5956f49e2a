"""What a policy sees: the group graph and the devices as arrays and features, before each decision."""
