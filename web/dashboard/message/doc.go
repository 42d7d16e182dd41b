// Package message makes the page of a message: its content, its history, its future and related
// messages. A message that is gone has a page as long as history knows of it.
package message
