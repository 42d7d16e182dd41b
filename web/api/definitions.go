package api

import (
	"bytes"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine/definition"
)

// Redefined is the answer of POST /definitions: what was done, or would be, in
// order.
type Redefined struct {
	Steps []DefinitionStep `json:"steps"`
}

// A DefinitionStep is one change.
type DefinitionStep struct {
	Do   string `json:"do"` // create, update, add rule or remove rule
	Path string `json:"path"`
	Rule string `json:"rule,omitempty"`
	At   string `json:"at"` // where the file says so
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
			method: "POST", path: "/definitions", id: "importDefinitions", group: groupEntities, summary: "Make entities and rules what a Config.json asks for",
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
	if query(c).Get("dryRun") == "true" {
		steps, err = d.broker.ForeseeDefine(r.Context(), want)
	} else {
		steps, err = d.broker.Define(r.Context(), want, client(r))
	}
	if err != nil {
		return err
	}
	out := Redefined{Steps: []DefinitionStep{}}
	for _, s := range steps {
		out.Steps = append(out.Steps, DefinitionStep{Do: s.Do.String(), Path: string(s.Path), Rule: s.Rule.Name, At: s.At})
	}
	return reply(c, http.StatusOK, out)
}
