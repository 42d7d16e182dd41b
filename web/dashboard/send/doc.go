// Package send makes the forms that send messages: a new message or many from a template, an
// edited copy, and imported files.
package send
