package client

import "mayfly/cmd/mayfly/cli"

// Commands returns the commands that call a server, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		describeSend(), describePeek(), describeReceive(), describeWatch(), describeSearch(), describePurge(), describeDamaged(), describeResubmit(), describeJobs(), describeAlerts(), describeExport(), describeImport(), describeDefinitions(), describeEntities(), describeRules(), describeNamespaces(), describeTokens(), describeViews(), describeTemplates(), describeScenes(), describeHealthcheck(),
	}
}

// exitCodes returns the exit codes of every command that calls a server, followed by `more`.
func exitCodes(more ...int) []int {
	return append([]int{cli.ExitNotFound, cli.ExitRefused, cli.ExitUnreachable}, more...)
}
