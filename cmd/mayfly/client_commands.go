package main

import "mayfly/cmd/mayfly/cli"

// ClientCommands returns the commands that ask a server, in the order of the help.
func ClientCommands() []cli.Command {
	return []cli.Command{
		describeSend(), describePeek(), describeReceive(), describeWatch(), describeSearch(), describePurge(), describeDamaged(), describeResubmit(), describeJobs(), describeAlerts(), describeExport(), describeImport(), describeDefinitions(), describeEntities(), describeRules(), describeNamespaces(), describeTokens(), describeViews(), describeTemplates(), describeScenes(), describeHealthcheck(),
	}
}

// clientExitCodes returns the exit codes of a command that calls a server.
func clientExitCodes(more ...int) []int {
	return append([]int{cli.ExitNotFound, cli.ExitRefused, cli.ExitUnreachable}, more...)
}
