package admin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"mayfly/engine/shorten"
	"mayfly/engine/topology"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/admin"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// MaxConfigSize is how many bytes a Config.json may have, the same as for topology.Read.
const MaxConfigSize = 1 << 20

// maxProblems is how many problems of a file are shown.
const maxProblems = 50

// A ConfigUpload is an uploaded Config.json and its validation.
type ConfigUpload struct {
	Text     string
	Problems topology.Problems // errors in Text
	Checked  bool              // Steps holds the result of the dry run
	Steps    []topology.Step
	Topology topology.Topology
	Refused  component.Notice
}

// StepsHash returns a hash of steps, so that a form can name the steps that the user confirmed.
func StepsHash(steps []topology.Step) string {
	raw, err := json.Marshal(steps)
	if err != nil {
		panic(err) // steps consist of texts and numbers
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Definitions returns the form for a Config.json, with the dry run of the one in d.
func Definitions(ctx context.Context, p *pages.Pages, at pages.Address, d ConfigUpload) (view.Page, error) {
	m := admin.Definitions{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "definitions.title")), To: p.URL(at), Export: p.Home() + "/definitions", Cancel: p.Home() + "/queues",
		Text: d.Text, Most: component.Bytes(ctx, MaxConfigSize), Refused: d.Refused, Checked: d.Checked,
	}
	for _, w := range d.Problems.First[:min(len(d.Problems.First), maxProblems)] {
		m.Errors = append(m.Errors, admin.DefinitionProblem{At: w.Path, Why: w.Reason})
	}
	warned := d.Topology.Warnings.First
	for _, w := range warned[:min(len(warned), maxProblems)] {
		m.Warnings = append(m.Warnings, admin.DefinitionProblem{At: w.Path, Why: w.Reason})
	}
	m.More = len(d.Problems.First) + d.Problems.More - len(m.Errors)
	if !d.Checked {
		return m, nil
	}
	m.Agreed, m.Destructive = StepsHash(d.Steps), slices.ContainsFunc(d.Steps, topology.Step.ChangesExisting)
	for _, s := range d.Steps {
		step := admin.DefinitionStep{Do: strings.ReplaceAll(s.Action.String(), " ", "-"), Name: pages.DisplayPath(s.Path), Rule: s.Rule.Name}
		for _, c := range s.Changes() {
			step.Changes = append(step.Changes, admin.DefinitionChange{Property: c.Property, Was: shorten.To(c.Was, 200), Is: shorten.To(c.Is, 200)})
		}
		m.Steps = append(m.Steps, step)
	}
	for _, kept := range d.Topology.Unchanged(d.Steps) {
		m.Kept = append(m.Kept, pages.DisplayPath(kept))
	}
	return m, nil
}
