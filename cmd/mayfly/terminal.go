package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// A terminal is what is known of where the program writes. Its zero value is a
// pipe.
type terminal struct {
	out, err bool                        // whether standard output, standard error, are one
	colours  bool                        // whether it may be written to in colours
	size     func() (columns, lines int) // of standard output; nil unless that is one
}

// terminalOf looks at the files, and at NO_COLOR (https://no-color.org).
func terminalOf(out, errors *os.File) terminal {
	t := terminal{out: term.IsTerminal(int(out.Fd())), err: term.IsTerminal(int(errors.Fd()))}
	if !t.out {
		return t
	}
	t.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t.size = func() (columns, lines int) {
		columns, lines, err := term.GetSize(int(out.Fd()))
		if err != nil || columns < 1 || lines < 1 {
			return 80, 24
		}
		return columns, lines
	}
	return t
}

// progress shows a text in place of the one before, where somebody looks.
func (s streams) progress(text string) {
	if s.terminal.err {
		fmt.Fprint(s.err, "\r\x1b[K"+text) //nolint:errcheck // it is no result
	}
}

// leaving is in as long as ctx lets it be read: who waits for what is to come is
// interrupted. Its goroutine ends then with what it reads, or with the process where
// that keeps it.
func leaving(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}

// awaited is what read returns, or why ctx has ended before it did; then read ends with
// what somebody types after all, or with the process.
func awaited(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	said := make(chan answer, 1)
	go func() {
		text, err := read()
		said <- answer{text, err}
	}()
	select {
	case a := <-said:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
