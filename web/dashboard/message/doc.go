// Package message makes the page of a message: its content, history, future and related messages.
// A removed message has a page for as long as its events are kept.
package message
