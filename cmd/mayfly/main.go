// Command mayfly is the broker and its command-line client.
package main

import (
	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
)

func main() { cli.Main(command.All()) }
