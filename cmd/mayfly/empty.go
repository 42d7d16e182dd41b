package main

import "fmt"

// failEmpty is the flag of commands that look for messages.
type failEmpty struct {
	FailEmpty bool `name:"fail-empty" help:"End with 5 if there is no message."`
}

// empty says that there was nothing, unless that is an error or there is JSON to
// read it from.
func (c failEmpty) empty(s streams, printed bool) error {
	if c.FailEmpty {
		return errEmpty
	}
	if printed {
		return nil
	}
	_, err := fmt.Fprintln(s.out, "There is no message.")
	return err
}
