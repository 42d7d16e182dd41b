package engine

import "strings"

// A SettingDeed is what an operator did to one of the things that a namespace keeps by
// their names for others, as an EventSettingsChanged says it.
type SettingDeed struct {
	Did  SettingDid // empty: nobody did anything
	Name string     // of the thing, as it was
	To   string     // of Renamed…: what it is called now; of StartedJob: the job that it takes back, if it does
}

// A SettingDid is what was done, in the words of the event.
type SettingDid string

// What can be done to what a namespace keeps.
const (
	SavedView        SettingDid = "saved the view"
	RenamedView      SettingDid = "renamed the view"
	DeletedView      SettingDid = "deleted the view"
	KeptTemplate     SettingDid = "kept the template"
	RenamedTemplate  SettingDid = "renamed the template"
	DeletedTemplate  SettingDid = "deleted the template"
	AddedAlert       SettingDid = "added the alert rule"
	ChangedAlert     SettingDid = "changed the alert rule"
	SwitchedOnAlert  SettingDid = "switched on the alert rule"
	SwitchedOffAlert SettingDid = "switched off the alert rule"
	RemovedAlert     SettingDid = "removed the alert rule"
	StartedJob       SettingDid = "started job"
	CancelledJob     SettingDid = "cancelled job"
	ResumedJob       SettingDid = "resumed job"
)

// SettingDids are all of them.
func SettingDids() []SettingDid {
	return []SettingDid{
		SavedView, RenamedView, DeletedView, KeptTemplate, RenamedTemplate, DeletedTemplate,
		AddedAlert, ChangedAlert, SwitchedOnAlert, SwitchedOffAlert, RemovedAlert, StartedJob, CancelledJob, ResumedJob,
	}
}

// link is what stands between the two names; empty: there is one.
func (d SettingDid) link() string {
	switch d {
	case RenamedView, RenamedTemplate:
		return " to "
	case StartedJob:
		return ", which takes back job "
	default:
		return ""
	}
}

// String is the reason of the event. ParseSettingDeed reads it.
func (d SettingDeed) String() string {
	s := string(d.Did) + " " + d.Name
	if d.To != "" {
		s += d.Did.link() + d.To
	}
	return s
}

// ParseSettingDeed reads the reason of an event. It is false for one that says something
// else, and where it cannot be told which of two names is which.
func ParseSettingDeed(reason string) (d SettingDeed, ok bool) {
	for _, did := range SettingDids() {
		names, is := strings.CutPrefix(reason, string(did)+" ")
		if !is {
			continue
		}
		link := did.link()
		at := strings.Index(names, link)
		if link == "" || at < 0 {
			return SettingDeed{Did: did, Name: names}, link == "" || did == StartedJob
		}
		return SettingDeed{Did: did, Name: names[:at], To: names[at+len(link):]}, at == strings.LastIndex(names, link)
	}
	return SettingDeed{}, false
}

// An AccessDeed is what an operator did to an access rule of the namespace, as an
// EventAccessChanged says it.
type AccessDeed struct {
	Did  AccessDid
	Rule string // its name, and of one that was created or updated its rights
}

// An AccessDid is what was done, in the words of the event.
type AccessDid string

// What can be done to an access rule.
const (
	CreatedAccess       AccessDid = "create"
	UpdatedAccess       AccessDid = "update"
	RemovedAccess       AccessDid = "remove"
	RenewedPrimaryKey   AccessDid = "new primary key of"
	RenewedSecondaryKey AccessDid = "new secondary key of"
)

// AccessDids are all of them.
func AccessDids() []AccessDid {
	return []AccessDid{CreatedAccess, UpdatedAccess, RemovedAccess, RenewedPrimaryKey, RenewedSecondaryKey}
}

// String is the reason of the event. ParseAccessDeed reads it.
func (d AccessDeed) String() string { return string(d.Did) + " " + d.Rule }

// ParseAccessDeed reads the reason of an event; false: it says something else.
func ParseAccessDeed(reason string) (d AccessDeed, ok bool) {
	for _, did := range AccessDids() {
		if rule, is := strings.CutPrefix(reason, string(did)+" "); is {
			return AccessDeed{did, rule}, true
		}
	}
	return AccessDeed{}, false
}
