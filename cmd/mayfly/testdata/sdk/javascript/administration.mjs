// The administration client.
