package command

import (
	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/client"
	"mayfly/cmd/mayfly/server"
)

// All returns all commands in the order of the help.
func All() []cli.Command {
	return cli.Commands(server.Commands(), client.Commands(), server.OfflineCommands())
}
