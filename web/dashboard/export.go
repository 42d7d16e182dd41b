package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/history"
	"mayfly/views/locale"
	"mayfly/web/dashboard/activity"
	"mayfly/web/dashboard/pages"
)

// exportBatch is how many events are read at a time.
const exportBatch = 1000

// exportEvents sends all events that match a page of activity, as a file: JSON Lines, or CSV for
// spreadsheets. It returns an error for an invalid parameter, which the page would ignore, so
// that the file is what the user asked for.
func (d *Handler) exportEvents(c echo.Context) error {
	d.prepareContext(c)
	at, err := d.address(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	format := at.Query.Get("format")
	out, kind := newEventWriter(format, c.Response())
	if out == nil {
		return &pages.LocalizedError{Err: engine.ErrArgument, Text: locale.T(ctx, "ui.export.format")}
	}
	f, wrong, err := activity.ParseFilter(ctx, d.pages, at)
	if err != nil {
		return err
	}
	for _, err := range wrong {
		return err
	}
	part, err := history.Query(ctx, d.b, f, exportBatch) // before the header, so that an error can still set the status
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, kind)
	name := fmt.Sprintf("activity-%s-%s.%s", d.b.Name(), d.b.ClockTime().Time().Format("20060102T150405Z"), format)
	h.Set(echo.HeaderContentDisposition, mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	c.Response().WriteHeader(http.StatusOK)
	if err := d.writeEvents(c, out, f, part); err != nil {
		d.log.DebugContext(ctx, "an export was cut off", "err", err)
		panic(http.ErrAbortHandler) // a partial file must not look complete
	}
	return nil
}

func (d *Handler) writeEvents(c echo.Context, out eventWriter, f history.Filter, part history.Page) (err error) {
	if err := out.begin(); err != nil {
		return err
	}
	for left := activity.MaxExportedEvents; ; {
		for _, e := range part.Events[:min(len(part.Events), left)] {
			if err := out.write(history.NewEvent(e)); err != nil {
				return err
			}
		}
		left -= len(part.Events)
		if part.Next == (engine.HistoryCursor{}) || left <= 0 {
			return out.end()
		}
		f.Before = part.Next
		if part, err = history.Query(c.Request().Context(), d.b, f, exportBatch); err != nil {
			return err
		}
	}
}

// An eventWriter writes events in a format.
type eventWriter interface {
	begin() error
	write(e history.Event) error
	end() error
}

// newEventWriter returns the writer of a format, and its media type, or nil if there is no such
// format.
func newEventWriter(format string, to io.Writer) (eventWriter, string) {
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
	if err := w.w.Write(history.Columns()); err != nil {
		return fmt.Errorf("write the headings: %w", err)
	}
	return nil
}

func (w csvWriter) write(e history.Event) error {
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

func (w jsonWriter) write(e history.Event) error {
	if err := w.w.Encode(e); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

func (jsonWriter) begin() error { return nil }

func (jsonWriter) end() error { return nil }
