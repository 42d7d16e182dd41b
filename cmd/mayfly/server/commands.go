package server

import "mayfly/cmd/mayfly/cli"

// Commands returns the command that runs the server.
func Commands() []cli.Command { return []cli.Command{describeServe()} }

// OfflineCommands returns the commands on files and stores, in the order of the help.
func OfflineCommands() []cli.Command {
	return []cli.Command{describeBackup(), describeRestore(), describeVerify(), describeCompact(), describeUsers(), describeTrust()}
}
