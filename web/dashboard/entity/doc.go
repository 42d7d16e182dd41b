// Package entity makes the pages of queues, topics and subscriptions: their lists, tabs, settings,
// rules and sessions, and the confirmations of changes.
package entity
