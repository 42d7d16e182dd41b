package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Streams are the program's standard input, output and error.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal Terminal // describes Out and Err if they are terminals
}

// WriteRaw prints raw unchanged to standard output.
func (s Streams) WriteRaw(raw []byte) error {
	_, err := s.Out.Write(raw)
	return err
}

// WriteLines prints each element of all on a line.
func (s Streams) WriteLines(all []json.RawMessage) error {
	for _, raw := range all {
		if err := s.WriteRaw(append(slices.Clip(raw), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// ShowProgress replaces the progress text, if standard error is a terminal.
func (s Streams) ShowProgress(text string) {
	if s.Terminal.Err {
		fmt.Fprint(s.Err, "\r\x1b[K"+text) //nolint:errcheck // not a result
	}
}
