// Package webhook sends alerts to webhooks: it posts them to the addresses that rules name
// (engine/alert), one event at a time for each rule.
//
// A request is a CloudEvent (1.0, structured mode: application/cloudevents+json). Its type is
// mayfly.alert. followed by the rule's condition, and its data is Data. If the rule has a
// secret, the request is signed:
//
//	Mayfly-Signature: t=1783936800,v1=5257a8…
//
// v1 is the HMAC-SHA256 in hex, keyed with the secret, of the number t, a dot and the body; t
// is the Unix time of the request in seconds, so that receivers can reject old requests. Sign
// computes it.
//
// A 2xx response is success. After a network error, 408, 425, 429 or 5xx the same event, with
// the same id, is sent again, up to eight times and for at most four minutes; so an endpoint
// that is up gets each event at least once, and may get it twice. Before each attempt the rule
// is read again: the event goes to the webhook and is signed with the secret that the rule has
// at that time, and is given up if the rule has no webhook any more. Other responses,
// redirects among them, are final. Alerts that a rule raises in the meantime are merged into
// one event: details of at most a hundred messages, and the total. So a rule never has more
// than two events in memory, and an endpoint that does not answer delays no other rule.
// Waiting events are in memory only: when the server stops they are lost, and the log says how
// many.
//
// Addresses of this machine and of private networks are refused unless Options.AllowPrivate is set:
// a shared server must not give its users access to what only it can reach. What counts is the
// address that a connection goes to, not the name. Link-local addresses are always refused.
package webhook
