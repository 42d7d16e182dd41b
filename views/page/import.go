package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// The names of the fields of Import. What chooses a word of its is one of the API's.
const (
	ImportFile     = "file"     // a file that is sent; in an address, the word of one that was
	ImportText     = "lines"    // lines that were pasted instead
	ImportTo       = "to"       // the path of a queue or topic, where the page is of none
	ImportTTL      = "ttl"      // keep, remaining or drop
	ImportSchedule = "schedule" // keep, shift or drop
	ImportIDs      = "ids"      // keep or new
)

// Import is the page that takes messages in, of a file. It stands still: Shell.Live
// is left empty.
type Import struct {
	Shell   layout.Shell
	In      Place                     // the queue or topic; one without a name: it is chosen
	To      string                    // the address a file is sent to
	Look    string                    // the address where it is looked at again, with other words
	Start   string                    // the address that has it imported
	Cancel  string                    // where Cancel leads
	Targets []string                  // what there is to import into, where it is chosen
	Values  map[string]string         // the words, and what the file is imported into
	Errors  map[string]component.Text // what was wrong, by the names of fields
	Refused component.Notice          // what was wrong with all of it
	Most    string                    // the largest file, as shown
	Taken   ImportSurvey              // of the file that was sent; one without a word: none was
}

// ImportSurvey is what would become of the messages of a file.
type ImportSurvey struct {
	Word string // by which the file is known
	Name string // as its sender calls it; empty: it was pasted
	Size string // as shown

	Lines, Import, Duplicates, Expired, AtOnce, Scheduled, Late, Unreadable, Refused int

	Failures []ImportFailure // the first of those that are not taken
	Full     ImportFailure   // where the target would be full; one without a line: nowhere
}

// ImportFailure is a line that is not taken.
type ImportFailure struct {
	Line int
	Why  string
}

// Full is the page.
func (m Import) Full() templ.Component { return importPage(m) }

// Watches is nil; the page stands still.
func (m Import) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Import) Parts() []view.Part { return m.Shell.Parts() }

// title is the page's heading.
func (m Import) title(ctx context.Context) string {
	if m.In.Name == "" {
		return locale.T(ctx, "import.title")
	}
	return locale.T(ctx, "import.title.into", locale.Args{"Name": m.In.Name})
}

// words are the fields that say what becomes of times and ids.
func (m Import) words(ctx context.Context) []component.Field {
	field := func(name, label string, values ...string) component.Field {
		f := component.Field{Name: name, Label: locale.T(ctx, label), Kind: component.Select, Text: true, Value: m.Values[name], Error: m.Errors[name]}
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

// importWord is the id of what a word is called.
func importWord(name, value string) string {
	return map[string]string{
		"ttl keep": "import.ttl.keep", "ttl remaining": "import.ttl.remaining", "ttl drop": "import.ttl.drop",
		"schedule keep": "import.schedule.keep", "schedule shift": "import.schedule.shift", "schedule drop": "import.schedule.drop",
		"ids keep": "import.ids.keep", "ids new": "import.ids.new",
	}[name+" "+value]
}

// into is the field that chooses a queue or topic.
func (m Import) into(ctx context.Context) component.Field {
	return component.Field{Name: ImportTo, Label: locale.T(ctx, "import.into"), Value: m.Values[ImportTo], Error: m.Errors[ImportTo], List: m.Targets, Required: true}
}

// pasted is the field for lines.
func (m Import) pasted(ctx context.Context) component.Field {
	return component.Field{
		Name: ImportText, Label: locale.T(ctx, "import.lines"), Kind: component.Area, Rows: 6, Error: m.Errors[ImportText],
		Placeholder: `{"body":"hello","subject":"new","timeToLive":"1h"}`, Tip: []component.Text{{S: locale.T(ctx, "import.lines.tip")}},
	}
}

// An importCount is how many lines share a fate.
type importCount struct {
	n    int
	what string // id of the words
	tone component.Tone
}

// fates are the counts that are not zero, those that need thought after those that
// do not.
func (s ImportSurvey) fates() (out []importCount) {
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

// called is what the file is called.
func (s ImportSurvey) called(ctx context.Context) string {
	if s.Name == "" {
		return locale.T(ctx, "import.pasted")
	}
	return component.Visible(s.Name)
}
