// Package lab makes the page where filters and actions are tried on messages, reads the forms of
// rules, and suggests subscriptions for messages that no subscription took.
package lab
