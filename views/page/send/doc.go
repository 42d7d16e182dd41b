// Package send holds the forms that send messages: a new message, messages from a template, an
// edited copy, and imported files. Its tables of typed values are also part of the forms of rules.
package send
