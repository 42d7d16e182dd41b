package main

import (
	"fmt"

	"mayfly/cmd/mayfly/cli"
)

// failEmptyFlag is the flag of commands that read messages.
type failEmptyFlag struct {
	FailEmpty bool `name:"fail-empty" help:"Exit with code 5 if there is no message."`
}

// reportEmpty reports that there was no message: as an error with --fail-empty, otherwise in words
// unless JSON was printed.
func (c failEmptyFlag) reportEmpty(s cli.Streams, printed bool) error {
	if c.FailEmpty {
		return cli.ErrEmpty
	}
	if printed {
		return nil
	}
	_, err := fmt.Fprintln(s.Out, "No message was found.")
	return err
}
