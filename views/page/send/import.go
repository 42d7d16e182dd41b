package send

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// The fields of Import. Fields with fixed values use the values of the API.
const (
	ImportFile     = "file"     // an uploaded file; in an address, the token of one
	ImportText     = "lines"    // pasted lines
	ImportTo       = "to"       // the path of a queue or topic, if the page does not name one
	ImportTTL      = "ttl"      // keep, remaining or drop
	ImportSchedule = "schedule" // keep, shift or drop
	ImportIDs      = "ids"      // keep or new
)

// Import is the page that imports messages from a file. It is not live: Shell.Live is left
// empty.
type Import struct {
	Shell     layout.Shell
	In        page.EntityRef            // the target; an empty name means that it is to be selected
	To        string                    // address for the upload
	DryRunURL string                    // address of the dry run with other options
	Start     string                    // address that starts the import
	Cancel    string                    // target of Cancel
	Targets   []string                  // suggested targets, if it is to be selected
	Values    map[string]string         // the options and the target
	Errors    map[string]component.Text // by the names of fields
	Refused   component.Notice          // the error of the form as a whole
	Most      string                    // largest file, as shown
	DryRun    ImportDryRun              // dry run of the uploaded file; an empty Word means that none was uploaded
}

// ImportDryRun is the result of a dry run.
type ImportDryRun struct {
	Word string // token of the file
	Name string // given by the browser; empty means pasted lines
	Size string // as shown

	Lines, Import, Duplicates, Expired, AtOnce, Scheduled, Late, Unreadable, Refused int

	Failures []ImportFailure // the first lines that would not be imported
	Full     ImportFailure   // where the target would be full; a zero Line means nowhere
}

// ImportFailure is a line that would not be imported.
type ImportFailure struct {
	Line int
	Why  string
}

// Full returns the whole page.
func (m Import) Full() templ.Component { return importPage(m) }

// Watches returns nil, because the page is not live.
func (m Import) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Import) Parts() []view.Part { return m.Shell.Parts() }

// title returns the page's heading.
func (m Import) title(ctx context.Context) string {
	if m.In.Name == "" {
		return locale.T(ctx, "import.title")
	}
	return locale.T(ctx, "import.title.into", locale.Args{"Name": m.In.Name})
}

// words returns the fields with the options of an import: the handling of times to live, schedules
// and ids.
func (m Import) words(ctx context.Context) []component.Field {
	field := func(name, label string, values ...string) component.Field {
		f := component.Field{Name: name, Label: locale.T(ctx, label), Kind: component.SelectField, Text: true, Value: m.Values[name], Error: m.Errors[name]}
		for _, v := range values {
			f.Options = append(f.Options, component.Option{Value: v, Label: locale.T(ctx, importWord(name, v))})
		}
		return f
	}
	ttl := field(ImportTTL, "import.ttl", "keep", "remaining", "drop")
	ttl.Tip = []component.Text{{S: locale.T(ctx, "import.ttl.tip")}}
	schedule := field(ImportSchedule, "import.schedule", "keep", "shift", "drop")
	schedule.Tip = []component.Text{{S: locale.T(ctx, "import.schedule.tip")}}
	ids := field(ImportIDs, "import.ids", "keep", "new")
	ids.Tip = []component.Text{{S: locale.T(ctx, "import.ids.tip")}}
	return []component.Field{ttl, schedule, ids}
}

// importWord returns the text id of an option.
func importWord(name, value string) string {
	return importTextIDs[name+" "+value]
}

// importTextIDs are the text ids of the options, by field and value.
var importTextIDs = map[string]string{
	"ttl keep": "import.ttl.keep", "ttl remaining": "import.ttl.remaining", "ttl drop": "import.ttl.drop",
	"schedule keep": "import.schedule.keep", "schedule shift": "import.schedule.shift", "schedule drop": "import.schedule.drop",
	"ids keep": "import.ids.keep", "ids new": "import.ids.new",
}

// into returns the field in which the user types the target.
func (m Import) into(ctx context.Context) component.Field {
	return component.Field{Name: ImportTo, Label: locale.T(ctx, "import.into"), Value: m.Values[ImportTo], Error: m.Errors[ImportTo], List: m.Targets, Required: true}
}

// pasted returns the field in which the user pastes lines.
func (m Import) pasted(ctx context.Context) component.Field {
	return component.Field{
		Name: ImportText, Label: locale.T(ctx, "import.lines"), Kind: component.AreaField, Rows: 6, Error: m.Errors[ImportText],
		Placeholder: `{"body":"hello","subject":"new","timeToLive":"1h"}`, Tip: []component.Text{{S: locale.T(ctx, "import.lines.tip")}},
	}
}

// An importCount is how many lines have the same outcome.
type importCount struct {
	n    int
	what string // text id
	tone component.Tone
}

// fates returns the counts above zero, the more serious outcomes last.
func (s ImportDryRun) fates() (out []importCount) {
	for _, c := range []importCount{
		{s.Scheduled, "import.scheduled", component.Never}, {s.Duplicates, "import.duplicates", component.Low}, {s.AtOnce, "import.atonce", component.Low},
		{s.Late, "import.late", component.Low}, {s.Expired, "import.expired", component.Low},
		{s.Refused, "import.refused", component.Critical}, {s.Unreadable, "import.unreadable", component.Critical},
	} {
		if c.n > 0 {
			out = append(out, c)
		}
	}
	return out
}

// called returns the name of the file, or the text for pasted lines.
func (s ImportDryRun) called(ctx context.Context) string {
	if s.Name == "" {
		return locale.T(ctx, "import.pasted")
	}
	return component.ShowInvisible(s.Name)
}
