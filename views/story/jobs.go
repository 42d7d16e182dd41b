package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/operate"
)

func jobRows() []operate.JobRow {
	row := func(key, kind, at, state string, total, seen int) operate.JobRow {
		return operate.JobRow{
			Key: key, Href: home + "/jobs/" + key, Kind: kind, At: at, State: state, Total: total, Seen: seen, Done: seen,
			Started: now.Add(-time.Duration(seen) * time.Millisecond), Now: now,
		}
	}
	rows := []operate.JobRow{
		row("5", "resubmit", "orders/$DLQ", "waiting", 318, 0),
		row("4", "move", "orders", "running", 100_000, 41_216),
		row("3", "delete", "", "interrupted", 4_000, 1_024),
		row("2", "dead-letter", "", "failed", 12, 5),
		row("1", "undo", "", "done", 25, 25),
		row("7", "send", "", "running", 5000, 512),
		row("6", "import", "", "done", 17, 17),
	}
	rows[6].To = "orders"
	rows[5].To = "orders"
	rows[1].To, rows[1].Query, rows[1].Skipped, rows[1].Failed = "orders-late", "subject:order.* age:>5m", 3, 2
	rows[2].Query = hostileID
	return rows
}

func jobs() operate.Jobs {
	return operate.Jobs{Shell: shell("Jobs", "", "/jobs"), New: home + "/jobs/new", Rows: jobRows()}
}

func noJobs() operate.Jobs {
	m := jobs()
	m.Rows = nil
	return m
}

func withJobs(s layout.Shell, j layout.Jobs) layout.Shell {
	s.Jobs = j
	return s
}

func jobThatRuns() operate.Job {
	return operate.Job{
		Shell: withJobs(shell("Jobs", "", "/jobs/4"), layout.Jobs{Running: 2, Percent: 43, Href: home + "/jobs"}), All: home + "/jobs", Row: jobRows()[1], Actor: "dashboard", Cancel: home + "/jobs/4/cancel",
		Failures: []operate.JobFailure{
			{Key: "7", Href: home + "/m/7", Seq: 12, At: "orders", Why: "The messaging entity 'orders-late' has a smaller size."},
			{Key: "8", Href: home + "/m/8", Seq: 13, At: "orders", Why: hostileID},
			{Line: 1204, Why: "The JSON ends too early."},
		},
	}
}

func jobThatWasInterrupted() operate.Job {
	return operate.Job{
		Shell: withJobs(shell("Jobs", "", "/jobs/3"), layout.Jobs{Running: 1, Href: home + "/jobs", Ended: "2", EndState: "cancelled"}), All: home + "/jobs", Row: jobRows()[2], Actor: "API 127.0.0.1", Ended: now,
		Resume: home + "/jobs/3/resume", Undo: home + "/jobs/3/undo",
	}
}

func jobThatFailed() operate.Job {
	return operate.Job{
		Shell: withJobs(shell("Jobs", "", "/jobs/2"), layout.Jobs{Href: home + "/jobs/2", Ended: "2", EndState: "failed"}), All: home + "/jobs", Row: jobRows()[3], Actor: "dashboard", Why: "The store accepts no writes.", Ended: now,
		UndoneBy: home + "/jobs/1", Of: home + "/jobs/9",
	}
}

func jobAsked() operate.JobForm {
	return operate.JobForm{
		Shell: shell("New job", layout.Section(""), "/jobs/new"), To: home + "/jobs/new", FormToken: "ONCE", Cancel: home + "/jobs", Kinds: []string{"resubmit", "move", "delete"},
		Values: map[string]string{page.FieldJobKind: "delete", page.FieldJobPath: "orders", page.FieldQuery: "age:>5m"},
		Count:  operate.JobCount{Known: true, Matching: 1204, Locked: 3, Unexamined: 200, First: firstRows(), Now: now, Confirm: "orders"},
	}
}

func jobRefused() operate.JobForm {
	m := jobAsked()
	m.Count = operate.JobCount{}
	m.Errors = map[string]component.Text{page.FieldQuery: component.ServerText("A duration is missing. See character 5."), page.FieldJobPath: component.ServerText("There can be no such path.")}
	m.Refused = component.Notice{Tone: component.Critical, Title: "There were 5 messages when you confirmed; now there are 50. Nothing was changed. Confirm again."}
	return m
}
