package engine

import (
	"strings"

	"mayfly/engine/shorten"
)

// audit marks e as the event of an operator's action. It is stored in the batch that contains
// the action, so that neither is stored without the other.
func (ns *Namespace) audit(e *Event) *Event {
	e.Audit = true
	ns.changes.hard = true
	return e
}

// Audit adds an audit event for an operator's action that does not change the namespace's
// content. For EventNamespaceCreated and EventNamespaceRemoved, about is the name of the other
// namespace; for other kinds, it is the Reason that the kind documents.
func (ns *Namespace) Audit(now Instant, kind EventKind, about, actor string) {
	ns.events = append(ns.events, Event{Kind: kind, At: now, Actor: actor, Reason: shorten.To(about, 256)})
	ns.audit(&ns.events[len(ns.events)-1])
}

// AuditDisconnect adds an audit event for a client's connection that an operator closed. The
// engine itself does not know about connections.
func (ns *Namespace) AuditDisconnect(now Instant, client, actor string) {
	ns.events = append(ns.events, Event{Kind: EventDisconnected, At: now, Actor: actor, Reason: client})
	ns.audit(&ns.events[len(ns.events)-1])
}

// AuditSettings adds an audit event for a change of settings, which the engine does not
// interpret.
func (ns *Namespace) AuditSettings(now Instant, what SettingAction, actor string) {
	ns.events = append(ns.events, Event{Kind: EventSettingsChanged, At: now, Actor: actor, Reason: shorten.To(what.String(), 256)})
	ns.audit(&ns.events[len(ns.events)-1])
}

// A SettingAction is what an operator did to a setting that the namespace stores by name for
// other packages, as recorded in an EventSettingsChanged.
type SettingAction struct {
	Kind SettingActionKind // empty if nothing was done
	Name string            // the name of the view, template, alert rule or job; for Renamed… the old name
	To   string            // for Renamed…: the new name; for StartedJob: the job that it undoes, if any
}

// A SettingActionKind is the kind of a SettingAction, as worded in the event's reason.
type SettingActionKind string

// The changes of settings.
const (
	SavedView        SettingActionKind = "saved the view"
	RenamedView      SettingActionKind = "renamed the view"
	DeletedView      SettingActionKind = "deleted the view"
	SavedTemplate    SettingActionKind = "kept the template"
	RenamedTemplate  SettingActionKind = "renamed the template"
	DeletedTemplate  SettingActionKind = "deleted the template"
	AddedAlert       SettingActionKind = "added the alert rule"
	ChangedAlert     SettingActionKind = "changed the alert rule"
	SwitchedOnAlert  SettingActionKind = "switched on the alert rule"
	SwitchedOffAlert SettingActionKind = "switched off the alert rule"
	RemovedAlert     SettingActionKind = "removed the alert rule"
	StartedJob       SettingActionKind = "started job"
	CancelledJob     SettingActionKind = "cancelled job"
	ResumedJob       SettingActionKind = "resumed job"
)

// SettingActionKinds returns all kinds.
func SettingActionKinds() []SettingActionKind {
	return []SettingActionKind{
		SavedView, RenamedView, DeletedView, SavedTemplate, RenamedTemplate, DeletedTemplate,
		AddedAlert, ChangedAlert, SwitchedOnAlert, SwitchedOffAlert, RemovedAlert, StartedJob, CancelledJob, ResumedJob,
	}
}

// infix returns the text between the two names, or "" if there is only one name.
func (d SettingActionKind) infix() string {
	switch d {
	case RenamedView, RenamedTemplate:
		return " to "
	case StartedJob:
		return ", which takes back job "
	default:
		return ""
	}
}

// String returns the reason of the event. ParseSettingAction parses it.
func (d SettingAction) String() string {
	s := string(d.Kind) + " " + d.Name
	if d.To != "" {
		s += d.Kind.infix() + d.To
	}
	return s
}

// ParseSettingAction parses the reason of an event. ok is false if the reason is not that of a
// SettingAction, or if it is ambiguous where the first of two names ends.
func ParseSettingAction(reason string) (d SettingAction, ok bool) {
	for _, did := range SettingActionKinds() {
		names, is := strings.CutPrefix(reason, string(did)+" ")
		if !is {
			continue
		}
		link := did.infix()
		at := strings.Index(names, link)
		if link == "" || at < 0 {
			return SettingAction{Kind: did, Name: names}, link == "" || did == StartedJob
		}
		return SettingAction{Kind: did, Name: names[:at], To: names[at+len(link):]}, at == strings.LastIndex(names, link)
	}
	return SettingAction{}, false
}

// An AccessAction is what an operator did to an access rule of the namespace, as recorded in an
// EventAccessChanged.
type AccessAction struct {
	Kind AccessActionKind
	Rule string // its name, followed by its rights if it was created or updated
}

// An AccessActionKind is the kind of an AccessAction, as worded in the event's reason.
type AccessActionKind string

// The changes of access rules.
const (
	CreatedAccess           AccessActionKind = "create"
	UpdatedAccess           AccessActionKind = "update"
	RemovedAccess           AccessActionKind = "remove"
	RegeneratedPrimaryKey   AccessActionKind = "new primary key of"
	RegeneratedSecondaryKey AccessActionKind = "new secondary key of"
)

// AccessActionKinds returns all kinds.
func AccessActionKinds() []AccessActionKind {
	return []AccessActionKind{CreatedAccess, UpdatedAccess, RemovedAccess, RegeneratedPrimaryKey, RegeneratedSecondaryKey}
}

// String returns the reason of the event. ParseAccessAction parses it.
func (d AccessAction) String() string { return string(d.Kind) + " " + d.Rule }

// ParseAccessAction parses the reason of an event. ok is false if the reason is not that of an
// AccessAction.
func ParseAccessAction(reason string) (d AccessAction, ok bool) {
	for _, did := range AccessActionKinds() {
		if rule, is := strings.CutPrefix(reason, string(did)+" "); is {
			return AccessAction{did, rule}, true
		}
	}
	return AccessAction{}, false
}
