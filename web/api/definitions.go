package api

import (
	"bytes"
	"errors"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"mayfly/engine/topology"
	"mayfly/web/auth"
)

// DefinitionsResult is the answer of POST /definitions: the changes, in order.
type DefinitionsResult struct {
	Steps     []DefinitionStep `json:"steps"`               // changes made, in order; with dryRun, changes to make
	Unchanged []string         `json:"unchanged,omitempty"` // entities of the file that need no change

	Warnings []DefinitionWarning `json:"warnings,omitempty"` // parts of the file that have no effect
}

// A DefinitionWarning is a part of the file that has no effect.
type DefinitionWarning struct {
	Position string `json:"position"` // where in the file
	Reason   string `json:"reason"`   // a sentence
}

// A DefinitionStep is one change.
type DefinitionStep struct {
	Action   string `json:"action"`         // create, update, add rule, replace rule or remove rule
	Path     string `json:"path"`           // of the entity
	Rule     string `json:"rule,omitempty"` // of a step about a rule
	Position string `json:"position"`       // the position in the file

	Changes []DefinitionChange `json:"changes,omitempty"` // of update
}

// A DefinitionChange is a property that gets another value.
type DefinitionChange struct {
	Property string `json:"property"` // Service Bus' name
	From     string `json:"from"`     // empty if there was none
	To       string `json:"to"`       // empty if there is none
}

// maxDefinition bounds a Config.json, in bytes, as topology.Read does.
const maxDefinition = 1 << 20

func definitionRoutes() []route {
	return []route{
		{
			method: "GET", path: "/definitions", id: "exportDefinitions", group: groupEntities, summary: "Export all entities and rules as the emulator's Config.json",
			description: "Properties with default values are left out. Access rules are not included, because Config.json has no place for them.",
			response:    map[string]any{}, handle: (*handler).exportDefinitions,
		},
		{
			method: "POST", path: "/definitions", id: "importDefinitions", role: auth.Admin, destruction: mayDestroy, group: groupEntities, summary: "Create and update entities and rules from a Config.json",
			exampleQuery: "dryRun=true", exampleBody: `{"UserConfig":{"Namespaces":[{"Name":"default","Queues":[{"Name":"invoices","Properties":{"MaxDeliveryCount":5}}]}]}}`,
			description: "Entities that the file does not name stay as they are. Only rules missing in a subscription's list are deleted. The whole file is checked before anything changes. The name of the namespace in it is ignored.",
			query:       []parameter{flagParameter("dryRun", "Only return the changes that would be made.").routeRole()},
			request:     map[string]any{}, maxBody: maxDefinition, response: DefinitionsResult{},
			problems: []string{"MessagingEntityNotFound", "MessagingEntityAlreadyExists", "InvalidOperation", "QuotaExceeded", "NotSupported"}, handle: (*handler).importDefinitions,
		},
	}
}

func (d *handler) exportDefinitions(c echo.Context) error {
	raw, err := d.broker.ConfigJSON(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, raw)
}

func (d *handler) importDefinitions(c echo.Context) error {
	r := c.Request()
	raw, err := readBody(r, maxDefinition)
	if err != nil {
		return err
	}
	limits := d.broker.Limits()
	want, err := topology.Read(bytes.NewReader(raw), topology.Options{Limits: &limits})
	if problems, ok := errors.AsType[topology.Problems](err); ok {
		_, more := d.broker.PreviewTopology(r.Context(), want)
		return problems.With(more)
	}
	if err != nil {
		return err
	}
	var steps []topology.Step
	only := query(c).Get("dryRun") == "true"
	if only || d.safe {
		steps, err = d.broker.PreviewTopology(r.Context(), want)
	}
	if err == nil && !only && slices.ContainsFunc(steps, topology.Step.ChangesExisting) {
		err = d.refuseInSafeMode()
	}
	if err == nil && !only {
		steps, err = d.broker.ApplyTopology(r.Context(), want, client(r))
	}
	if err != nil {
		return err
	}
	out := DefinitionsResult{Steps: []DefinitionStep{}, Warnings: presentWarnings(want.Warnings)}
	for _, s := range steps {
		step := DefinitionStep{Action: s.Action.String(), Path: string(s.Path), Rule: s.Rule.Name, Position: s.At}
		for _, c := range s.Changes() {
			step.Changes = append(step.Changes, DefinitionChange{Property: c.Property, From: c.Was, To: c.Is})
		}
		out.Steps = append(out.Steps, step)
	}
	for _, p := range want.Unchanged(steps) {
		out.Unchanged = append(out.Unchanged, string(p))
	}
	return reply(c, http.StatusOK, out)
}

// presentWarnings presents the parts of a Config.json that have no effect.
func presentWarnings(all topology.Problems) (out []DefinitionWarning) {
	for _, w := range all.First {
		out = append(out, DefinitionWarning{Position: w.Path, Reason: w.Reason})
	}
	return out
}
