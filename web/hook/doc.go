// Package hook tells webhooks of alerts: it posts them to the addresses that rules
// name (engine/rescue), one after another for a rule.
//
// A request is a CloudEvent (1.0, structured mode: application/cloudevents+json)
// whose type is mayfly.alert. and what the rule waits for, and whose data is Data.
// Where the rule has a secret the request is signed:
//
//	Mayfly-Signature: t=1783936800,v1=5257a8…
//
// v1 is HMAC-SHA256 in hex, by the secret, of the number t, a dot and the body; t is
// the second in which the request was made, so that old ones can be told from new.
// Sign makes it.
//
// An answer of 2xx is good. After none, 408, 425, 429 and 5xx the same event, with
// the same id, comes again up to eight times, within four minutes at the most; so it comes at
// least once where somebody is there, and may come twice. Before each attempt the rule
// is looked at anew: the event goes to the webhook that it has then, signed by the
// secret that it has then, and is given up where there is none any more. Other answers, redirects
// among them, are final. What a rule has to tell meanwhile is put into one event: at
// most a hundred messages with their names, and the number of all. So a rule never
// has more than two events in memory, and an endpoint that does not answer holds up
// nobody. Events that wait are in memory alone: when the server stops they are
// lost, and the log says how many.
//
// Addresses of this machine and of private networks are refused unless Options.Private
// is set: a shared server must not be a way to what only it can reach. What counts is
// where a connection goes, not the name. Link-local addresses are refused always.
package hook
