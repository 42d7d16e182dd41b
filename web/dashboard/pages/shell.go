package pages

import (
	"context"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/views/layout"
)

// EndedJobShown is how long pages show that a job has ended.
const EndedJobShown = 30 * time.Second

// jobsStatus returns the state of jobs that every page shows.
func (p *Pages) jobsStatus() layout.Jobs {
	if p.Options.Jobs == nil {
		return layout.Jobs{}
	}
	g := p.Options.Jobs.Progress(p.Broker.ClockTime().Add(-EndedJobShown))
	out := layout.Jobs{Running: g.Jobs, Href: p.URL(Address{Namespace: p.Broker.Name(), Kind: Jobs})}
	if g.Total > 0 {
		out.Percent = int(min(100*g.Seen/g.Total, 100))
	}
	if g.LastEnded.ID != 0 {
		out.Ended, out.EndState = strconv.FormatInt(int64(g.LastEnded.ID), 10), string(g.LastEnded.State)
		if g.Jobs == 0 {
			out.Href = p.JobURL(g.LastEnded.ID)
		}
	}
	return out
}

// maxMenuNamespaces is how many namespaces the menu lists.
const maxMenuNamespaces = 12

// addNamespaceMenu adds links to other namespaces to the shell.
func (p *Pages) addNamespaceMenu(sh *layout.Shell) {
	if p.Options.Namespaces.Namespaces == nil {
		return
	}
	sh.AllNamespaces = p.NamespacesURL("")
	for i, n := range p.Options.Namespaces.Namespaces.List() {
		here := n.Name == p.Broker.Name()
		if i < maxMenuNamespaces || here {
			sh.Namespaces = append(sh.Namespaces, layout.NamespaceLink{Name: n.Name, Href: p.Options.Base + "/n/" + n.Name, Here: here, Unserved: n.State != namespaces.Serving, Elsewhere: n.State == namespaces.Standby})
		}
	}
}

// ServerShell returns the shell of a page outside any namespace.
func (p *Pages) ServerShell(ctx context.Context, title string) layout.Shell {
	sh := p.StaticShell(ctx, Address{Namespace: p.Broker.Name(), Kind: Overview}, title)
	sh.Back, sh.Active = p.NamespacesURL(""), ""
	return sh
}

// LiveShell returns the shell of a live page.
func (p *Pages) LiveShell(ctx context.Context, at Address, s Snapshot, title string) layout.Shell {
	sh := p.StaticShell(ctx, at, title)
	sh.Live = layout.Live{URL: at.String(), N: s.Event, Epoch: p.Broker.Epoch(), Now: s.Now.Time(), Build: p.Options.Build}
	if is := p.Broker.ClockState(); is != (broker.ClockState{Rate: 1}) {
		sh.Live.Pace = layout.Pace{Turned: true, Rate: is.Rate, Until: is.Until.Time()}
	}
	return sh
}

// StaticShell returns the shell of a page that is not live.
func (p *Pages) StaticShell(ctx context.Context, at Address, title string) layout.Shell {
	who, _ := ctx.Value(VisitorKey{}).(Visitor)
	sh := layout.Shell{
		Namespace: p.Broker.Name(), Home: p.Home(), Title: title, Active: p.section(at),
		Appearance: who.Appearance, Settings: p.SettingsURL(), Docs: p.DocsURL(), CSRF: who.CSRF, Notice: who.Notice, User: who.User,
		Back: p.URL(at), Banner: p.banner(ctx), Jobs: p.jobsStatus(),
	}
	p.addNamespaceMenu(&sh)
	p.addSceneBar(ctx, &sh)
	if IsConfined(ctx) { // such a viewer may not see what belongs to all namespaces
		sh.Namespaces, sh.AllNamespaces, sh.Scenes, sh.Settings = nil, "", "", ""
	}
	return sh
}

// section returns the current section of the navigation.
func (p *Pages) section(at Address) layout.Section {
	switch r := p.Route(at); {
	case r == nil:
		return ""
	case r.Kind != Entity && r.Kind != Session:
		return r.Section
	case at.EntityType == engine.Queue:
		return layout.Queues
	default:
		return layout.Topics
	}
}
