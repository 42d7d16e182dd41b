// Package activity tells events as sentences, and makes the pages that follow from them: the
// audit trail and history, metrics, alerts and demo scenes.
package activity
