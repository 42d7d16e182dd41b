// Package activity describes events in sentences, and builds the pages that follow from them: the
// audit trail and history, metrics, alerts and demo scenes.
package activity
