package activity

import (
	"context"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// settingActionTexts are the text ids of changes to a namespace's settings.
var settingActionTexts = map[engine.SettingActionKind]string{
	engine.SavedView: "event.view.saved", engine.RenamedView: "event.view.renamed", engine.DeletedView: "event.view.deleted",
	engine.SavedTemplate: "event.template.kept", engine.RenamedTemplate: "event.template.renamed", engine.DeletedTemplate: "event.template.deleted",
	engine.AddedAlert: "event.alert.added", engine.ChangedAlert: "event.alert.changed", engine.RemovedAlert: "event.alert.removed",
	engine.SwitchedOnAlert: "event.alert.on", engine.SwitchedOffAlert: "event.alert.off",
	engine.StartedJob: "event.job.started", engine.CancelledJob: "event.job.cancelled", engine.ResumedJob: "event.job.resumed",
}

// accessActionTexts are the text ids of changes to access rules.
var accessActionTexts = map[engine.AccessActionKind]string{
	engine.CreatedAccess: "event.access.created", engine.UpdatedAccess: "event.access.updated", engine.RemovedAccess: "event.access.removed",
	engine.RegeneratedPrimaryKey: "event.access.primary", engine.RegeneratedSecondaryKey: "event.access.secondary",
}

// settingText describes a change of a setting for the page.
func settingText(ctx context.Context, d engine.SettingAction) string {
	id := settingActionTexts[d.Kind]
	if d.Kind == engine.StartedJob && d.To != "" {
		id = "event.job.undo"
	}
	return locale.T(ctx, id, locale.Args{"Name": component.ShowInvisible(d.Name), "To": component.ShowInvisible(d.To)})
}
