package ui

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/views/locale"
	"mayfly/web/past"
	"mayfly/web/show"
)

// exportAtOnce is how many events are read before they are written.
const exportAtOnce = 1000

// export sends what a page of activity would show, all of it, as a file: JSON
// Lines, or CSV for spreadsheets. Nothing is left out of what was asked for: a
// word that cannot be read is refused.
func (d *Door) export(c echo.Context) error {
	d.visit(c)
	at, err := d.place(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	format := at.Query.Get("format")
	out, kind := writerOf(format, c.Response())
	if out == nil {
		return &show.Refusal{Kind: engine.ErrArgument, Text: locale.T(ctx, "ui.export.format")}
	}
	f, wrong, err := d.pages.Sieve(ctx, at)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for _, err := range wrong {
		return err
	}
	part, err := past.Look(ctx, d.b, f, exportAtOnce) // so that a failure still has its status
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, kind)
	name := fmt.Sprintf("activity-%s-%s.%s", d.b.Name(), d.b.Clock().Time().Format("20060102T150405Z"), format)
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.Response().WriteHeader(http.StatusOK)
	if err := d.exportAll(c, out, f, part); err != nil {
		d.log.DebugContext(ctx, "an export was cut off", "err", err)
		panic(http.ErrAbortHandler) // a file that ends early must not look whole
	}
	return nil
}

func (d *Door) exportAll(c echo.Context, out eventWriter, f past.Filter, part past.Part) (err error) {
	if err := out.begin(); err != nil {
		return err
	}
	for left := show.MostExported; ; {
		for _, e := range part.Events[:min(len(part.Events), left)] {
			if err := out.write(past.Present(e)); err != nil {
				return err
			}
		}
		left -= len(part.Events)
		if part.Next == (engine.PastPlace{}) || left <= 0 {
			return out.end()
		}
		f.Before = part.Next
		if part, err = past.Look(c.Request().Context(), d.b, f, exportAtOnce); err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
	}
}

// An eventWriter writes events in a format.
type eventWriter interface {
	begin() error
	write(e past.Event) error
	end() error
}

// writerOf is a format's, and its media type; nil if there is no such format.
func writerOf(format string, to io.Writer) (eventWriter, string) {
	switch format {
	case "csv":
		return csvWriter{csv.NewWriter(to)}, "text/csv; charset=utf-8"
	case "jsonl":
		e := json.NewEncoder(to)
		e.SetEscapeHTML(false)
		return jsonWriter{e}, "application/jsonl"
	default:
		return nil, ""
	}
}

type csvWriter struct{ w *csv.Writer }

func (w csvWriter) begin() error {
	if err := w.w.Write(past.Columns()); err != nil {
		return fmt.Errorf("write the headings: %w", err)
	}
	return nil
}

func (w csvWriter) write(e past.Event) error {
	if err := w.w.Write(e.Cells()); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

func (w csvWriter) end() error {
	w.w.Flush()
	if err := w.w.Error(); err != nil {
		return fmt.Errorf("write the last events: %w", err)
	}
	return nil
}

type jsonWriter struct{ w *json.Encoder }

func (w jsonWriter) write(e past.Event) error {
	if err := w.w.Encode(e); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

func (jsonWriter) begin() error { return nil }

func (jsonWriter) end() error { return nil }
