// Package template defines drafts of messages, with placeholders: to be sent many times, or to
// be stored under a name.
//
//	Text            a text with placeholders, and its value for the first, second, … message
//	Draft           a message whose fields are such texts, and how often it is sent
//	CompiledDraft   a compiled draft; its method Message returns one of its messages
//	Template        a draft with a name, stored in a namespace by Save, Rename and Delete
//
// Except for these three functions, the package is pure: the instant and the seed of random
// values are arguments, so that the same draft, instant, seed and number always result in the
// same message. So a preview shows exactly what is sent, and an interrupted job continues with
// the messages that it would have sent.
//
// # Placeholders
//
// A placeholder is written between {{ and the next }}. Spaces inside do not matter:
//
//	{{n}}             the number of the message, from 1
//	{{n+100}}         with a whole number added to it, or subtracted: {{n-1}}
//	{{n%10}}          the remainder of a division: 0 to 9, repeatedly
//	{{count}}         how many messages there are
//	{{uuid}}          a random UUID
//	{{now}}           when sending began: 2026-07-14T10:00:00.000Z
//	{{now+5m}}        with a duration added to it, or subtracted: {{now-1h30m}}
//	{{unix}}          the same in seconds since 1970: {{unix+5m}}
//	{{random 1 100}}  a random whole number between two numbers, including both
//	{{pick a|b|c}}    one of several texts; the text between the bars is literal
//	{{letters 20}}    this many random lower-case letters and digits
//
// A backslash before {{ makes it literal: \{{n}} is {{n}}. Two backslashes before a placeholder
// are one. A }} without {{ before it is literal, and so is a single brace, so that JSON needs no
// escapes.
package template
