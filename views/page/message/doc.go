// Package message holds the page of a message: its body and headers, its time to live, its history and
// the actions on it. The ways to show a body also serve the state of a session.
package message
