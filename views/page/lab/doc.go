// Package lab holds the page where filters and actions are tried on messages, and the form of a rule.
// The rules it shows are also part of the pages of subscriptions.
package lab
