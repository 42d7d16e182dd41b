package enginetest

import "runtime/debug"

func stack() string { return string(debug.Stack()) }

// everyState lists the states in which an operation can meet a message.
func everyState() []string {
	return []string{
		"active", "active expired", "locked", "locked expired", "lock run out", "lock run out expired",
		"deferred", "deferred expired", "deferred locked", "deferred locked expired", "deferred lock run out", "deferred lock run out expired",
		"scheduled", "scheduled, due",
		"dead", "dead locked", "dead lock run out", "dead deferred", "dead deferred locked", "dead deferred lock run out",
		"gone",
	}
}

func everyOperation() []string {
	return []string{
		"complete", "abandon", "defer", "dead-letter", "release", "renew", "fetch", "fetch and delete", "cancel",
		"move back", "move", "copy", "extend", "return", "dead-letter one", "delete one", "break lock", "renew for", "send now", "reschedule",
		"receive", "receive and delete", "deliver", "peek", "purge", "batch delete", "update", "delete entity", "touch", "pin", "unpin", "sweep",
	}
}

// inapplicable returns why an operation cannot meet a message in a state, or "" if it can.
func inapplicable(operation, state string) string {
	switch operation {
	case "receive", "receive and delete", "deliver", "peek", "purge", "batch delete", "update", "delete entity", "touch", "pin", "unpin", "sweep":
		if state == "gone" {
			return "it acts on a place, and a message that is gone is in none"
		}
	}
	return ""
}
