// Package template describes messages before they exist: with placeholders, to be sent many
// times over, or to be kept under a name.
//
//	Text            a text with placeholders, and its value for the first, second, … message
//	Draft           a message whose members are such texts, and how often it is sent
//	CompiledDraft   a compiled draft; its method Message makes one message of it
//	Template        a draft under a name, as a namespace keeps it: Save, Rename, Delete
//
// Except for these three functions it is pure: the instant and the seed of random values are
// arguments, so that the same draft, seed and number always make the same message. A preview
// shows exactly what is sent, and an interrupted job continues with the messages that it would
// have sent.
//
// # Placeholders
//
// A placeholder stands between {{ and the next }}, spaces inside do not matter:
//
//	{{n}}             the number of the message, from 1
//	{{n+100}}         with a whole number added to it, or subtracted: {{n-1}}
//	{{n%10}}          the remainder of a division: 0 to 9, again and again
//	{{count}}         how many messages there are
//	{{uuid}}          a random UUID
//	{{now}}           when the sending began: 2026-07-14T10:00:00.000Z
//	{{now+5m}}        so much later, or earlier: {{now-1h30m}}
//	{{unix}}          the same in seconds since 1970: {{unix+5m}}
//	{{random 1 100}}  a random whole number, the ends included
//	{{pick a|b|c}}    one of several texts; the text between the bars is literal
//	{{letters 20}}    so many random lower-case letters and digits
//
// A backslash before {{ makes it literal: \{{n}} is {{n}}. Two backslashes there are one,
// and a placeholder follows. A }} without {{ before it is literal, and so is a single
// brace, so that JSON needs no escapes.
package template
