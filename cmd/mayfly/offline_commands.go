package main

import "mayfly/cmd/mayfly/cli"

// OfflineCommands returns the commands on files and stores, in the order of the help.
func OfflineCommands() []cli.Command {
	return []cli.Command{describeBackup(), describeRestore(), describeVerify(), describeCompact(), describeUsers(), describeTrust()}
}
