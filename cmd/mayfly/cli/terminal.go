package cli

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

// A Terminal describes standard output and error. The zero value is for pipes.
type Terminal struct {
	Out, Err bool                        // whether standard output and standard error are terminals
	Colours  bool                        // whether standard output may have colours
	Size     func() (columns, lines int) // of standard output; nil unless it is a terminal
}

// terminalOf describes standard output and error. It respects NO_COLOR (https://no-color.org).
func terminalOf(out, errors *os.File) Terminal {
	t := Terminal{Out: term.IsTerminal(int(out.Fd())), Err: term.IsTerminal(int(errors.Fd()))}
	if !t.Out {
		return t
	}
	t.Colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t.Size = func() (columns, lines int) {
		columns, lines, err := term.GetSize(int(out.Fd()))
		if err != nil || columns < 1 || lines < 1 {
			return 80, 24
		}
		return columns, lines
	}
	return t
}

// CancellableReader returns a reader of in whose reads fail once ctx has ended. Its goroutine ends
// after its current read of in, or with the process if that read blocks.
func CancellableReader(ctx context.Context, in io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}

// ReadOrCancel returns the result of read, or the cause of ctx if that ends first. Then the
// goroutine of read ends with the next input, or with the process.
func ReadOrCancel(ctx context.Context, read func() (string, error)) (string, error) {
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
