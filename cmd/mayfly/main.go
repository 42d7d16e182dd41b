// Command mayfly is the broker and its command-line client.
package main

import "mayfly/cmd/mayfly/cli"

func main() { cli.Main(commands()) }

// commands returns all commands in the order of the help. Each is described in its own file.
func commands() []cli.Command {
	return cli.Commands(ServerCommands(), ClientCommands(), OfflineCommands())
}
