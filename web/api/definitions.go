package api

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"mayfly/engine/definition"
	"mayfly/web/identity"
)

// Redefined is the answer of POST /definitions: what was done, or would be, in
// order.
type Redefined struct {
	Steps     []DefinitionStep `json:"steps"`               // what was done, in order; with dryRun what would be
	Unchanged []string         `json:"unchanged,omitempty"` // entities of the file that are as it says already
}

// A DefinitionStep is one change.
type DefinitionStep struct {
	Do   string `json:"do"`             // create, update, add rule, replace rule or remove rule
	Path string `json:"path"`           // of the entity
	Rule string `json:"rule,omitempty"` // of a step about a rule
	At   string `json:"at"`             // where the file says so

	Changes []DefinitionChange `json:"changes,omitempty"` // of update
}

// A DefinitionChange is a property that gets another value.
type DefinitionChange struct {
	Property string `json:"property"` // Service Bus' name
	Was      string `json:"was"`      // empty: none
	Is       string `json:"is"`       // likewise
}

// largestDefinition is as much as definition.Read takes.
const largestDefinition = 1 << 20

func definitionRoutes() []route {
	return []route{
		{
			method: "GET", path: "/definitions", id: "exportDefinitions", group: groupEntities, summary: "All entities and rules, as the emulator's Config.json",
			about: "What is as it is by default is left out. Access rules are not in it: no such file has them.",
			gives: map[string]any{}, serve: (*door).exportDefinitions,
		},
		{
			method: "POST", path: "/definitions", id: "importDefinitions", needs: identity.Admin, ruin: mayRuin, group: groupEntities, summary: "Make entities and rules what a Config.json asks for",
			ask: "dryRun=true", sends: `{"UserConfig":{"Namespaces":[{"Name":"default","Queues":[{"Name":"invoices","Properties":{"MaxDeliveryCount":5}}]}]}}`,
			about: "What the file does not name stays as it is, and nothing is deleted but rules that a subscription's list does not have. All that is wrong is found before anything changes. The name of the namespace in it does not matter.",
			query: []parameter{yes("dryRun", "Only say what would be done.")},
			takes: map[string]any{}, most: largestDefinition, gives: Redefined{},
			fails: []string{"MessagingEntityNotFound", "MessagingEntityAlreadyExists", "InvalidOperation", "QuotaExceeded", "NotSupported"}, serve: (*door).importDefinitions,
		},
	}
}

func (d *door) exportDefinitions(c echo.Context) error {
	raw, err := d.broker.Definition(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, raw)
}

func (d *door) importDefinitions(c echo.Context) error {
	r := c.Request()
	raw, err := readBody(r, largestDefinition)
	if err != nil {
		return err
	}
	limits := d.broker.Limits()
	want, err := definition.Read(bytes.NewReader(raw), definition.Options{Limits: &limits})
	if err != nil {
		return err
	}
	var steps []definition.Step
	only := query(c).Get("dryRun") == "true"
	if only || d.safe {
		steps, err = d.broker.ForeseeDefine(r.Context(), want)
	}
	if err == nil && !only && slices.ContainsFunc(steps, definition.Step.Alters) {
		err = d.spare()
	}
	if err == nil && !only {
		steps, err = d.broker.Define(r.Context(), want, client(r))
	}
	if err != nil {
		return err
	}
	out := Redefined{Steps: []DefinitionStep{}}
	for _, s := range steps {
		step := DefinitionStep{Do: s.Do.String(), Path: string(s.Path), Rule: s.Rule.Name, At: s.At}
		for _, c := range s.Changes() {
			step.Changes = append(step.Changes, DefinitionChange(c))
		}
		out.Steps = append(out.Steps, step)
	}
	for _, p := range want.Unchanged(steps) {
		out.Unchanged = append(out.Unchanged, string(p))
	}
	return reply(c, http.StatusOK, out)
}
