// Package send makes the forms that messages come from: a new message or many from a template, an
// edited copy, and imported files.
package send
