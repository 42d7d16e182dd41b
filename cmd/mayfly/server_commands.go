package main

import "mayfly/cmd/mayfly/cli"

// ServerCommands returns the command that is the server.
func ServerCommands() []cli.Command { return []cli.Command{describeServe()} }
