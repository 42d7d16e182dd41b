package show

import (
	"context"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// settingDids are what was done to what a namespace keeps: ids of texts.
var settingDids = map[engine.SettingDid]string{
	engine.SavedView: "event.view.saved", engine.RenamedView: "event.view.renamed", engine.DeletedView: "event.view.deleted",
	engine.KeptTemplate: "event.template.kept", engine.RenamedTemplate: "event.template.renamed", engine.DeletedTemplate: "event.template.deleted",
	engine.AddedAlert: "event.alert.added", engine.ChangedAlert: "event.alert.changed", engine.RemovedAlert: "event.alert.removed",
	engine.SwitchedOnAlert: "event.alert.on", engine.SwitchedOffAlert: "event.alert.off",
	engine.StartedJob: "event.job.started", engine.CancelledJob: "event.job.cancelled", engine.ResumedJob: "event.job.resumed",
}

// accessDids are what was done to access rules: ids of texts.
var accessDids = map[engine.AccessDid]string{
	engine.CreatedAccess: "event.access.created", engine.UpdatedAccess: "event.access.updated", engine.RemovedAccess: "event.access.removed",
	engine.RenewedPrimaryKey: "event.access.primary", engine.RenewedSecondaryKey: "event.access.secondary",
}

// settingWords say what was done in the words of the page.
func settingWords(ctx context.Context, d engine.SettingDeed) string {
	id := settingDids[d.Did]
	if d.Did == engine.StartedJob && d.To != "" {
		id = "event.job.undo"
	}
	return locale.T(ctx, id, locale.Args{"Name": component.Visible(d.Name), "To": component.Visible(d.To)})
}
