// Package story renders pages and components with canned data: one afternoon of a shop
// whose backend has slowed down, so that orders expire. The tests compare the pages with
// testdata, and check that the parts of every page equal its content.
package story

import (
	"net/url"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// A Story is a page or a component in one situation.
type Story struct {
	Name      string          // also the name of its file in testdata
	Page      view.Page       // nil for components
	Component templ.Component // nil for pages
}

// All returns every story.
func All() []Story {
	return append([]Story{
		{Name: "overview", Page: overviewPage()},
		{Name: "overview-first-start", Page: firstStart()},
		{Name: "overview-second-visit", Page: secondVisit()},
		{Name: "overview-read-only", Page: readOnly()},
		{Name: "expirations", Page: expirations()},
		{Name: "expirations-empty", Page: expirationsEmpty()},
		{Name: "metrics", Page: metrics()},
		{Name: "metrics-none", Page: metricsNone()},
		{Name: "temporary", Page: temporary()},
		{Name: "temporary-empty", Page: temporaryEmpty()},
		{Name: "deferred", Page: deferred()},
		{Name: "deferred-empty", Page: deferredEmpty()},
		{Name: "deferred-columns", Page: deferredColumns()},
		{Name: "deferred-columns-empty", Page: deferredColumnsEmpty()},
		{Name: "connections", Page: clients()},
		{Name: "connections-empty", Page: noClients()},
		{Name: "connections-one", Page: oneClient()},
		{Name: "connections-over", Page: goneClient()},
		{Name: "connections-end", Page: endClient()},
		{Name: "damaged", Page: damaged()},
		{Name: "damaged-empty", Page: noDamaged()},
		{Name: "damaged-one", Page: moveOneAside()},
		{Name: "damaged-all", Page: moveAllAside()},
		{Name: "access", Page: accessRules()},
		{Name: "namespaces", Page: namespaces()},
		{Name: "namespaces-refused", Page: namespacesRefused()},
		{Name: "namespace-remove", Page: namespaceRemoval()},
		{Name: "namespace-limits", Page: namespaceLimits()},
		{Name: "access-entity", Page: accessOfEntity()},
		{Name: "access-refused", Page: accessRefused()},
		{Name: "access-keys", Page: accessKeys()},
		{Name: "access-keys-accepted", Page: accessKeysAccepted()},
		{Name: "access-renew", Page: accessRenew()},
		{Name: "access-remove", Page: accessRemove()},
		{Name: "jobs", Page: jobs()},
		{Name: "jobs-empty", Page: noJobs()},
		{Name: "send-many", Page: sendMany()},
		{Name: "message-edit", Page: editDead()},
		{Name: "message-edit-binary", Page: editBinary()},
		{Name: "templates", Page: templates()},
		{Name: "templates-empty", Page: noTemplates()},
		{Name: "template-delete", Page: templateAsk()},
		{Name: "jobs-one", Page: jobThatRuns()},
		{Name: "jobs-interrupted", Page: jobThatWasInterrupted()},
		{Name: "jobs-failed", Page: jobThatFailed()},
		{Name: "jobs-new", Page: jobAsked()},
		{Name: "jobs-refused", Page: jobRefused()},
		{Name: "import", Page: importForm()},
		{Name: "import-refused", Page: importRefused()},
		{Name: "definitions", Page: definitionsAsked()},
		{Name: "definitions-wrong", Page: definitionsWrong()},
		{Name: "definitions-seen", Page: definitionsSeen()},
		{Name: "import-surveyed", Page: importSurveyed()},
		{Name: "alerts", Page: alertsAll()},
		{Name: "alerts-about", Page: alertsAbout()},
		{Name: "alerts-empty", Page: alertsNone()},
		{Name: "alerts-one", Page: alertOne()},
		{Name: "alerts-trouble", Page: alertInTrouble()},
		{Name: "alerts-new", Page: alertNew()},
		{Name: "alerts-refused", Page: alertRefused()},
		{Name: "alerts-remove", Page: alertRemoved()},
		{Name: "alerts-toasts", Component: alertToasts().Full()},
		{Name: "reference", Page: reference()},
		{Name: "reference-filtered", Page: referenceFiltered()},
		{Name: "components", Component: components()},
	}, slices.Concat(activityStories(), shareStories(), searchStories(), goToStories(), sceneStories(), settingsStories(), docsStories(), tokenStories(), entityStories(), viewStories())...)
}

// now is the instant of every story.
var now = time.Date(2026, 7, 14, 10, 4, 12, 0, time.UTC) //nolint:gochecknoglobals // in effect a constant

const home = "/n/shop"

func queueURL(name string) string { return home + "/q/" + url.PathEscape(name) }

func topicURL(name string) string { return home + "/t/" + url.PathEscape(name) }

func shell(title string, active layout.Section, path string) layout.Shell {
	return layout.Shell{
		Namespace: "shop",
		Home:      home,
		Title:     title,
		Active:    active,
		CSRF:      "token",
		Settings:  "/settings",
		Docs:      "/docs",
		Back:      home + path,
		Live:      layout.Live{URL: home + path, N: 48_271, Epoch: 7, Now: now, Build: "story"},
	}
}

func at(clock string) time.Time {
	t, err := time.Parse("15:04:05", clock)
	if err != nil {
		panic(err) // canned
	}
	return time.Date(2026, 7, 14, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// within returns a clock with a total duration of which the given time is left.
func within(left, of time.Duration) component.Clock {
	return component.Clock{At: now.Add(left), Of: of, Now: now}
}

func plainText(text string) component.Text  { return component.Text{S: text} }
func strongText(text string) component.Text { return component.Text{S: text, Strong: true} }
