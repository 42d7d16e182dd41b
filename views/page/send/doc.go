// Package send holds the forms that messages come from: a new message, messages from a template, an
// edited copy, and imported files. Its tables of typed values are also part of the forms of rules.
package send
