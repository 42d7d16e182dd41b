package story

import (
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/page/admin"
	"mayfly/views/page/send"
)

func importForm() send.Import {
	return send.Import{
		Shell: shell("Import messages", "", "/q/orders/import"), In: page.EntityRef{Kind: page.Queue, Name: "orders", Href: home + "/q/orders"},
		To: home + "/q/orders/import", DryRunURL: home + "/q/orders/import", Start: home + "/q/orders/import/start", Cancel: home + "/q/orders",
		Values: map[string]string{}, Most: "256 MB",
	}
}

func importRefused() send.Import {
	m := importForm()
	m.In, m.Targets = page.EntityRef{}, []string{"orders", hostileID}
	m.Errors = map[string]component.Text{send.ImportFile: component.ServerText("The file has more than 256 MiB. Import it with the command mayfly import, which takes files of any size.")}
	m.Refused = component.Notice{Tone: component.Critical, Title: "The file was removed. Upload it again."}
	return m
}

func importSurveyed() send.Import {
	m := importForm()
	m.Values = map[string]string{send.ImportTTL: "remaining", send.ImportIDs: "new"}
	m.DryRun = send.ImportDryRun{
		Word: "WORD", Name: hostileID, Size: "1.2 MB", Lines: 1300, Import: 1204, Duplicates: 12, Expired: 61, AtOnce: 1, Scheduled: 318, Late: 7, Unreadable: 3, Refused: 32,
		Failures: []send.ImportFailure{
			{Line: 3, Why: "The JSON is not valid at byte 1: invalid character 'h' looking for beginning of value."},
			{Line: 17, Why: "The message has 300211 bytes; the maximum of 'orders' is 262144."}, {Line: 18, Why: hostileID},
		},
		Full: send.ImportFailure{Line: 1290, Why: "The maximum entity size has been reached or exceeded for queue: 'orders'."},
	}
	return m
}

func definitionsAsked() admin.Definitions {
	return admin.Definitions{
		Shell: shell("Import definitions", "", "/definitions/import"), To: home + "/definitions/import", Export: home + "/definitions", Cancel: home + "/queues", Most: "1.0 MB",
	}
}

func definitionsWrong() admin.Definitions {
	m := definitionsAsked()
	m.Text = "{}"
	m.Refused = component.Notice{Tone: component.Critical, Title: "What the file would do has changed. Look again."}
	m.Errors = []admin.DefinitionProblem{
		{At: "UserConfig.Namespaces[0].Queues[2].Properties.LockDuration", Why: "The value 'soon' is no duration."},
		{Why: "The file is empty."}, {At: hostileID, Why: hostileID},
	}
	m.More = 12
	return m
}

func definitionsSeen() admin.Definitions {
	m := definitionsAsked()
	m.Text, m.Checked, m.Agreed, m.Destructive = `{"UserConfig":{}}`, true, "WORD", true
	m.Steps = []admin.DefinitionStep{
		{Do: "create", Kind: page.Queue, Name: "orders"},
		{Do: "update", Kind: page.Queue, Name: hostileID, Changes: []admin.DefinitionChange{{Property: "LockDuration", Was: "PT1M", Is: "PT30S"}, {Property: "ForwardTo", Is: "audit"}, {Property: "UserMetadata", Was: hostileID}}},
		{Do: "add-rule", Kind: page.Subscription, Name: "prices/eu", Rule: "large"},
		{Do: "remove-rule", Kind: page.Subscription, Name: "prices/eu", Rule: "$Default"},
	}
	m.Kept = []string{"audit", "prices"}
	return m
}
