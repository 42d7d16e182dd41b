package story

import (
	"slices"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/views/page/operate"
	"mayfly/views/page/send"
)

// staticShell returns the shell of a page that is not live.
func staticShell(title string, active layout.Section, path string) layout.Shell {
	sh := shell(title, active, path)
	sh.Live = layout.Live{}
	return sh
}

func ordersRef() page.EntityRef {
	return page.EntityRef{Kind: page.Queue, Name: "orders", Href: home + "/q/orders"}
}

func setters() []entity.PropertyField {
	return []entity.PropertyField{
		{Name: "DefaultMessageTimeToLive", Type: entity.DurationField, Value: "never", Default: "never", Least: "1s"},
		{Name: "DeadLetteringOnMessageExpiration", Type: entity.SwitchField, Value: "true", Default: "off"},
		{Name: "LockDuration", Type: entity.DurationField, Value: "1m", Default: "1m", Least: "5s", Most: "5m"},
		{Name: "MaxDeliveryCount", Type: entity.NumberField, Value: "10", Default: "10", Least: "1", Most: "2,147,483,647"},
		{Name: "AutoDeleteOnIdle", Type: entity.DurationField, Value: "never", Default: "never", Least: "5m"},
		{Name: "Status", Type: entity.ChoiceField, Value: "Active", Default: "Active", Options: []string{"Active", "Disabled", "SendDisabled", "ReceiveDisabled"}},
		{Name: "RequiresSession", Type: entity.SwitchField, Default: "off"},
		{Name: "RequiresDuplicateDetection", Type: entity.SwitchField, Default: "off"},
		{Name: "DuplicateDetectionHistoryTimeWindow", Type: entity.DurationField, Value: "10m", Default: "10m", Least: "20s", Most: "7d"},
		{Name: "ForwardTo", Type: entity.EntityField, Options: []string{"payments", longName}},
		{Name: "ForwardDeadLetteredMessagesTo", Type: entity.EntityField, Options: []string{"payments", longName}},
		{Name: "MaxSizeInMegabytes", Type: entity.NumberField, Value: "1024", Default: "1024", Least: "1", Most: "81,920"},
		{Name: "MaxMessageSizeInKilobytes", Type: entity.NumberField, Value: "0", Default: "0", Least: "0", Most: "102,400"},
		{Name: "EnableBatchedOperations", Type: entity.SwitchField, Value: "true", Default: "on"},
		{Name: "EnablePartitioning", Type: entity.SwitchField, Default: "off", Fixed: true},
		{Name: "UserMetadata", Type: entity.TextField, Most: "1,024"},
	}
}

func createQueue() entity.Form {
	return entity.Form{
		Shell: staticShell("New queue", layout.Queues, "/queues/new"), Kind: page.Queue, New: true,
		Href: home + "/queues", To: home + "/queues", Fields: setters(),
	}
}

func editQueue() entity.Form {
	m := entity.Form{
		Shell: staticShell("Edit orders", layout.Queues, "/q/orders/edit"), Kind: page.Queue, Name: "orders",
		Href: home + "/q/orders", To: home + "/q/orders/edit", Fields: setters(), Changes: 2,
		Refused:     component.Notice{Tone: component.Critical, Title: "Nothing was saved", Detail: "One field breaks a rule; it says which."},
		TTLPreview:  entity.TTLPreview{TTL: "2m", Expire: 318, Of: 1204, Fate: component.ExpiryOutcome{To: "orders/$DLQ"}, OwnTTL: 80, Locked: 16, Deferred: 5},
		Try:         home + "/q/orders/edit?try=1",
		IdlePreview: entity.IdlePreview{Is: "1h", At: now.Add(time.Hour), Messages: 1300},
	}
	m.Fields[0].Value, m.Fields[0].Was = "2m", "5m"
	m.Fields[4].Value, m.Fields[4].Was = "3m", "7d"
	m.Fields[4].Error = component.ServerText("3m is too short. A queue may delete itself after 5m or more (AutoDeleteOnIdle ≥ PT5M).")
	m.Fields[6].Fixed, m.Fields[7].Fixed, m.Fields[7].Value = true, true, "true"
	return m
}

func createTaken() entity.Form {
	m := createQueue()
	m.Name, m.NameError = "Orders", component.ServerText("There is already a queue called orders; capitals do not count.")
	return m
}

func editSubscription() entity.Form {
	sub := subscription(page.TabRules)
	return entity.Form{
		Shell: staticShell("Edit eu", layout.Topics, "/t/prices/s/eu/edit"), Kind: page.Subscription, Name: "eu", Topic: "prices", TopicHref: home + "/t/prices",
		Href: home + "/t/prices/s/eu", To: home + "/t/prices/s/eu/edit", Fields: setters()[:7],
		Rules: sub.Rules, AddRule: home + "/t/prices/s/eu/rules/add",
	}
}

func kinds() []string {
	return []string{"null", "boolean", "ubyte", "byte", "char", "ushort", "short", "uint", "int", "ulong", "long", "float", "double", "decimal128", "string", "uuid", "timestamp", "timespan", "uri", "datetime-offset"}
}

func sendMessage() send.Send {
	return send.Send{
		Shell: staticShell("Send to orders", layout.Queues, "/q/orders/send"), In: ordersRef(), To: home + "/q/orders/send", FormToken: "ONCE",
		Limit: send.TTLLimit{Most: "5m", Dead: true}, Most: 100_000, AtOnce: 1000, Kinds: kinds(), Manage: home + "/templates",
	}
}

// sendMany is the send form filled in from a template, with a preview of the messages.
func sendMany() send.Send {
	m := sendMessage()
	m.Templates, m.Template = []string{"late orders", hostileID}, "late orders"
	m.Values = map[string]string{
		send.SendBody: "{\"order\": {{n}}}", send.SendSubject: "order {{n}}", send.SendTTL: "{{random 10 60}}s", send.SendRepeat: "5000", send.SendEvery: "1s",
		send.SendTemplateName: "late orders", send.SendSeed: "00112233445566778899aabbccddeeff",
	}
	for i := range 3 {
		s := send.PreviewMessage{
			N: i + 1, Body: "{\"order\": " + string(rune('1'+i)) + "}",
			Facts: []send.PreviewProperty{{Label: "Message id", Value: "a3f1c3a5-0d4e-4b7a-9c11-2f6e5d7a8b90"}, {Label: "Subject", Value: "order " + string(rune('1'+i))}, {Label: "Time to live", Value: "42s"}},
		}
		if i > 0 {
			s.Due = now.Add(time.Duration(i) * time.Second)
		}
		m.Preview = append(m.Preview, s)
	}
	m.Preview[2].Body, m.Preview[2].More = hostileID, 5000
	m.Preview[2].Facts = append(m.Preview[2].Facts, send.PreviewProperty{Label: hostileID, Value: hostileID + " (string)"})
	return m
}

// editDead is the form that edits a dead letter.
func editDead() send.Send {
	m := sendMessage()
	m.Shell, m.To = staticShell("Edit and resubmit #17", layout.Queues, "/m/17/edit"), home+"/m/17/edit"
	m.Edit = send.EditedMessage{Name: "#17", Href: home + "/m/17", Cancel: home + "/m/17", UnsupportedProperties: 1}
	m.Values = map[string]string{send.SendBody: "{\"order\": 17}", send.SendSubject: "order.placed", send.SendMessageID: "m-17", send.SendTarget: "prices/Subscriptions/eu", page.FieldHow: "move"}
	m.Properties = []send.Property{{Name: "region", Kind: "string", Value: "eu"}}
	m.Errors = map[string]component.Text{page.FieldDuplicate: component.ServerText("'orders' has received the MessageId 'm-17' within the last 10m and would drop the message as a duplicate.")}
	return m
}

// editBinary is the form that edits a message whose body is too large to be edited.
func editBinary() send.Send {
	m := editDead()
	m.Errors, m.Edit.UnsupportedProperties, m.Edit.Kept, m.Values[send.SendBody] = nil, 0, "4.2 MB, which is too large to be edited here. It stays as it is.", ""
	return m
}

func templates() send.Templates {
	return send.Templates{
		Shell: staticShell("Templates", "", "/templates"), Rename: home + "/templates/rename", Remove: home + "/templates/remove", Queues: home + "/queues",
		Asked: "late orders", Typed: "a/b", Error: component.ServerText("The name of a template has no slash."),
		Rows: []send.TemplateRow{
			{Name: "late orders", Subject: "order {{n}}", Repeat: 5000, Size: 1204, Changed: now.Add(-time.Hour), Now: now},
			{Name: hostileID, Repeat: 1, Changed: now.Add(-48 * time.Hour), Now: now, Broken: "The template cannot be read."},
		},
	}
}

func noTemplates() send.Templates {
	m := templates()
	m.Rows, m.Error = nil, component.Text{}
	return m
}

func templateAsk() send.ConfirmRemoveTemplate {
	return send.ConfirmRemoveTemplate{Shell: staticShell("Templates", "", "/templates"), Name: hostileID, To: home + "/templates/remove", All: home + "/templates"}
}

func sendRefused() send.Send {
	m := sendMessage()
	m.Values = map[string]string{
		send.SendBody: "{\"order\": {{n}},\n \"note\": \"</textarea>\"}", send.SendSubject: "订单已创建", send.SendTTL: "soon",
		send.SendSchedule: "at", send.SendAt: "yesterday", send.SendRepeat: "5000", send.SendSessionID: "customer-77",
	}
	m.Errors = map[string]component.Text{
		send.SendTTL:    component.ServerText("“soon” is not a duration: write it as 90s, 1h30m or 7d."),
		send.SendAt:     component.ServerText("“yesterday” is not an instant: write it as 2026-07-14T10:30."),
		send.SendRepeat: component.ServerText("5,000 is too many: 1 to 1,000."),
	}
	m.Properties = []send.Property{
		{Name: "region", Kind: "string", Value: "eu"},
		{Name: "attempt", Kind: "int", Value: "two", Error: component.ServerText("“two” is not an int.")},
	}
	m.Refused = component.Notice{Tone: component.Critical, Title: "Nothing was sent", Detail: "Four fields cannot be read."}
	return m
}

func confirmShell() layout.Shell { return staticShell("Confirm", layout.Queues, "/q/orders") }

func deleteQueue() operate.Confirm {
	return operate.Confirm{
		Shell: confirmShell(), Verb: operate.DeleteEntity, To: home + "/q/orders/delete", Cancel: home + "/q/orders", Entity: ordersRef(),
		Count: 1387, Type: "orders", TypeError: component.ServerText("“order” is not its name."), Values: map[string]string{page.FieldConfirm: "order"},
		States:   []operate.StateLine{{State: page.StateActive, N: 1284}, {State: page.StateLocked, N: 16}, {State: page.StateScheduled, N: 42}, {State: page.StateDeferred, N: 7}, {State: page.StateDeadLetter, N: 38}},
		Contents: []string{"2 queues forward to it"},
	}
}

func purgeQueue() operate.Confirm {
	return operate.Confirm{
		Shell: confirmShell(), Verb: operate.Purge, To: home + "/q/orders/purge", Cancel: home + "/q/orders", Entity: ordersRef(), Type: "orders", Left: 16, Filter: operate.PurgeFilter{MaxLength: 1024},
		States:  []operate.StateLine{{State: page.StateActive, N: 1204, Picked: true}, {State: page.StateScheduled, N: 42}, {State: page.StateDeferred}, {State: page.StateDeadLetter, N: 38}},
		Refused: component.Notice{Tone: component.Low, Title: "Nothing was purged", Detail: "Meanwhile it grew from 1,060 to 1,204 messages. Look at the number again."},
	}
}

// purgeMatching is the purge form with a filter that was evaluated on only a part of the messages.
func purgeMatching() operate.Confirm {
	m := purgeQueue()
	m.Refused, m.Left, m.Count = component.Notice{}, 2, 111_516
	m.Filter = operate.PurgeFilter{Text: "amount > 1000\nAND sys.Label = 'order.placed'", MaxLength: 1024, Counted: true, Matching: 312, Unexamined: 111_204, Failed: 3}
	m.States[0].N = 120_404
	m.Preview, m.Now = firstRows(), now
	return m
}

// firstRows returns a few messages, one of them with hostile text.
func firstRows() []list.MessageRow {
	return []list.MessageRow{
		{State: page.StateActive, Number: 12, Subject: "order.placed", First: "half a line of text", At: now.Add(-90 * time.Second)},
		{State: page.StateScheduled, Number: 1204, Subject: hostileID, Pills: []list.Pill{{Key: "amount", Value: "1200"}, {Key: "<i>", Value: hostileID}}, At: now.Add(-time.Hour)},
		{State: page.StateDeadLetter, Number: 1205, At: now.Add(-50 * time.Hour)},
	}
}

// purgeUnread is the purge form with an invalid filter.
func purgeUnread() operate.Confirm {
	m := purgeQueue()
	m.Refused, m.Type = component.Notice{}, ""
	m.Filter = operate.PurgeFilter{
		Text: "amount > 1000 AND", MaxLength: 1024,
		Fault: component.SyntaxError{Text: "amount > 1000 AND", At: 17, Want: "a condition"},
	}
	return m
}

func deleteMessages() operate.Confirm {
	return operate.Confirm{
		Shell: confirmShell(), Verb: operate.DeleteMessages, To: home + "/q/orders/bulk/delete", Cancel: home + "/q/orders", Entity: ordersRef(),
		Count: 5, Sample: []string{"o-88415", "o-88420", "订单已创建"}, Left: 1,
		Hidden: []page.HiddenField{{Name: page.FieldKey, Value: "3048201"}, {Name: page.FieldKey, Value: "3048204"}},
	}
}

func deadLetterOne() operate.Confirm {
	return operate.Confirm{
		Shell: confirmShell(), Verb: operate.MoveToDeadLetter, To: home + "/m/3048201/dead-letter", Cancel: home + "/m/3048201", Entity: ordersRef(),
		Count: 1, Subject: "order.placed o-88412", Hidden: []page.HiddenField{{Name: page.FieldLockToken, Value: "00002af0"}},
		Errors: map[string]component.Text{page.FieldReason: component.ServerText("5,000 characters are too many: at most 4,096.")},
	}
}

func confirmations() []Story {
	one := func(verb operate.Verb, path string) operate.Confirm {
		return operate.Confirm{
			Shell: confirmShell(), Verb: verb, To: home + path, Cancel: home + "/m/3048201", Entity: ordersRef(), Count: 1, Subject: "order.placed o-88412",
		}
	}
	many := one(operate.Resubmit, "/q/orders/resubmit")
	many.Subject, many.Count, many.Type, many.Entity.DeadLetter = "", 1_204_388, "orders", true
	many.Sample = []string{"o-88377", "o-88376"}
	moving := operate.Confirm{
		Shell: confirmShell(), Verb: operate.MoveTo, To: home + "/bulk/move", Cancel: home, Entity: page.EntityRef{Name: "default", WholeNamespace: true}, Count: 3,
		Sample: []string{"o-88377 #3", "o-88376 #4"}, Entities: []string{"billing", "orders"}, Values: map[string]string{page.FieldTo: "biling"},
		Errors: map[string]component.Text{page.FieldTo: component.ServerText("There is no queue or topic called 'biling'.")},
	}
	large := deleteMessages()
	large.Count, large.Type, large.Export = 64, "orders", "/api/v1/export?keys=3048201%2C3048204"
	large.States = []operate.StateLine{{State: page.StateActive, N: 60}, {State: page.StateDeferred, N: 4}}
	return []Story{
		{Name: "confirm-move", Page: moving},
		{Name: "confirm-delete-many", Page: large},
		{Name: "confirm-delete-queue", Page: deleteQueue()},
		{Name: "confirm-purge", Page: purgeQueue()},
		{Name: "confirm-purge-matching", Page: purgeMatching()},
		{Name: "confirm-purge-unread", Page: purgeUnread()},
		{Name: "confirm-delete-messages", Page: deleteMessages()},
		{Name: "confirm-dead-letter", Page: deadLetterOne()},
		{Name: "confirm-cancel", Page: one(operate.CancelSchedule, "/m/3048201/cancel")},
		{Name: "confirm-reschedule", Page: one(operate.Reschedule, "/m/3048201/reschedule")},
		{Name: "confirm-extend", Page: one(operate.Extend, "/m/3048201/extend")},
		{Name: "confirm-resubmit", Page: many},
	}
}

func failures() []Story {
	fail := func(status int) page.Failure {
		return page.Failure{Shell: staticShell("Refused", "", ""), Status: status}
	}
	disabled := fail(409)
	disabled.Title = "Sending is off"
	disabled.Refused, disabled.Rule, disabled.Advice = "orders takes no messages: sending is off.", "Messaging entity 'orders' is currently disabled for Send operations. (STAT-2)", "Open it for sending in its settings."
	disabled.Continue = component.Link{Href: home + "/q/orders/edit", Label: "Settings of orders"}
	return []Story{
		{Name: "failure-403", Page: fail(403)}, {Name: "failure-404", Page: fail(404)}, {Name: "failure-409", Page: disabled},
		{Name: "failure-422", Page: fail(422)}, {Name: "failure-500", Page: fail(500)}, {Name: "failure-501", Page: fail(501)}, {Name: "failure-503", Page: fail(503)},
	}
}

// entityStories returns the pages about entities and messages.
func entityStories() []Story {
	stories := []Story{
		{Name: "queues", Page: queues()},
		{Name: "queues-none", Page: queuesNone()},
		{Name: "queues-wrong", Page: queuesWrong()},
		{Name: "topics", Page: topics()},
		{Name: "topics-empty", Page: topicsEmpty()},
		{Name: "queue", Page: queueMessages()},
		{Name: "queue-empty", Page: queueEmpty()},
		{Name: "queue-scheduled", Page: queueScheduled()},
		{Name: "queue-scheduled-empty", Page: queueEmptyTab(page.TabScheduled, false)},
		{Name: "queue-deferred", Page: queueDeferred()},
		{Name: "queue-deferred-empty", Page: queueEmptyTab(page.TabDeferred, false)},
		{Name: "queue-locked", Page: queueLocked()},
		{Name: "queue-locked-empty", Page: queueEmptyTab(page.TabLocked, false)},
		{Name: "queue-dead-letter", Page: queueDead()},
		{Name: "queue-dead-letter-empty", Page: queueEmptyTab(page.TabDeadLetters, true)},
		{Name: "queue-settings", Page: queueSettings()},
		{Name: "queue-settings-stays", Page: func() entity.Entity { m := queueEmpty(); m.Tab = page.TabSettings; return m }()},
		{Name: "queue-gone", Page: queueGone()},
		{Name: "topic", Page: topic()},
		{Name: "topic-empty", Page: topicEmpty()},
		{Name: "subscription", Page: subscription(page.TabMessages)},
		{Name: "message", Page: oneMessage()},
		{Name: "message-active", Page: messageActive()},
		{Name: "message-inspected", Page: messageInspected()},
		{Name: "message-scheduled", Page: messageScheduled()},
		{Name: "message-deferred", Page: messageDeferred()},
		{Name: "message-sent", Page: messageSent()},
		{Name: "message-long", Page: messageLong()},
		{Name: "message-dead", Page: messageDead()},
		{Name: "message-ended", Page: messageEnded()},
		{Name: "message-purged", Page: messagePurged()},
		{Name: "message-missing", Page: messageMissing()},
		{Name: "message-drawer", Component: beside(queueMessages(), oneMessage().Drawer())},
		{Name: "form-queue", Page: createQueue()},
		{Name: "form-queue-taken", Page: createTaken()},
		{Name: "form-queue-edit", Page: editQueue()},
		{Name: "form-subscription-edit", Page: editSubscription()},
		{Name: "send", Page: sendMessage()},
		{Name: "send-refused", Page: sendRefused()},
	}
	return slices.Concat(stories, sessionStories(), ruleStories(), confirmations(), failures(), standbys())
}
