package show

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"mayfly/engine/definition"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// MostDefinition is how many bytes a Config.json has, as definition.Read takes it.
const MostDefinition = 1 << 20

// problemsTold is how many things that are wrong with a file are shown.
const problemsTold = 50

// A Drawing is what somebody has sent as a Config.json, and what became of it.
type Drawing struct {
	Text     string
	Problems definition.Problems // what is wrong with it
	Seen     bool                // Steps are what it would do
	Steps    []definition.Step
	Want     definition.Topology
	Refused  component.Notice
}

// Agreed is a word by which the steps of a definition are known again.
func Agreed(steps []definition.Step) string {
	raw, err := json.Marshal(steps)
	if err != nil {
		panic(err) // texts and numbers
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Definitions asks for a Config.json, and says of one what it would do.
func (p *Pages) Definitions(ctx context.Context, at Place, d Drawing) (view.Page, error) {
	m := page.Definitions{
		Shell: p.still(ctx, at, locale.T(ctx, "definitions.title")), To: p.URL(at), Export: p.Home() + "/definitions", Cancel: p.Home() + "/queues",
		Text: d.Text, Most: component.Bytes(ctx, MostDefinition), Refused: d.Refused, Seen: d.Seen,
	}
	for _, w := range d.Problems.Told[:min(len(d.Problems.Told), problemsTold)] {
		m.Wrong = append(m.Wrong, page.DefinitionProblem{At: w.Path, Why: w.Reason})
	}
	m.More = len(d.Problems.Told) + d.Problems.More - len(m.Wrong)
	if !d.Seen {
		return m, nil
	}
	m.Agreed, m.Alters = Agreed(d.Steps), slices.ContainsFunc(d.Steps, definition.Step.Alters)
	for _, s := range d.Steps {
		step := page.DefinitionStep{Do: strings.ReplaceAll(s.Do.String(), " ", "-"), Name: Shown(s.Path), Rule: s.Rule.Name}
		for _, c := range s.Changes() {
			step.Changes = append(step.Changes, page.DefinitionChange{Property: c.Property, Was: cut(c.Was, 200), Is: cut(c.Is, 200)})
		}
		m.Steps = append(m.Steps, step)
	}
	for _, kept := range d.Want.Unchanged(d.Steps) {
		m.Kept = append(m.Kept, Shown(kept))
	}
	return m, nil
}
