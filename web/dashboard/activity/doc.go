// Package activity makes the pages of the history and audit trail, of metrics, alerts and demo
// scenes, and describes events in sentences.
package activity
